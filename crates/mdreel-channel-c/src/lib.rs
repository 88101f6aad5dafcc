//! The producer of mdreel's channels for engines that are not written in Rust.
//!
//! The header `include/mdreel_channel.h` declares and documents the functions for engines; this crate implements them. Every
//! function that can fail returns 0 or the number of a kind of error, and stores the message for `mdreel_last_error`. No panic
//! crosses the interface, and the crate prints nothing.
#![cfg(target_os = "linux")]

mod error;
mod frame;
mod producer;
mod settings;
