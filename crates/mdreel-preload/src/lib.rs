//! Managed directories for programs that know nothing of mdreel: a library that is loaded before the C library
//! (`LD_PRELOAD`), and stands in for its functions that open and close files.
//!
//! `docs/design/014-managed-directories.md` says what it does and why. Two rules hold everywhere: outside of managed directories
//! nothing is changed; and nothing is allocated, as the functions may be called wherever `open` may be, such as between `fork` and
//! `exec`.
#![cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod asynchronous;
mod begin;
mod c;
mod close;
mod failures;
mod formatted;
mod intercept;
mod life;
mod looks;
#[path = "../../mdreel-channel/src/managed/names.rs"]
mod names;
mod next;
mod open;
mod parts;
mod place;
mod start;
mod streams;
mod system_calls;
mod text;
mod wait;
mod writes;
