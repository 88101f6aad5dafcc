//! The producer of mdreel's channels for engines that are not written in Rust.
//!
//! `include/mdreel_channel.h` is what an engine sees, and says what each function does; here it is done. Every function returns 0 or
//! the number of a kind of error, and keeps the message for `mdreel_last_error`. No panic gets out, and nothing is printed.
#![cfg(target_os = "linux")]

mod error;
mod frame;
mod producer;
mod settings;
