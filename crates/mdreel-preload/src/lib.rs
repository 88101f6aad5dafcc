//! Managed directories for programs that do not use mdreel: a library that is loaded before the C library (`LD_PRELOAD`) and
//! replaces the functions that open, write and close files.
//!
//! `docs/design/014-managed-directories.md` describes the design. Two rules hold everywhere: files outside of managed directories
//! behave as before, and no function allocates memory, because a program may call it between `fork` and `exec`.
#![cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod asynchronous;
mod begin;
mod c;
mod close;
mod failures;
mod formatted;
mod intercept;
mod life;
#[path = "../../mdreel-channel/src/managed/names.rs"]
mod names;
mod next;
mod open;
mod parts;
mod path_calls;
mod place;
mod start;
mod streams;
mod system_calls;
mod text;
mod wait;
mod writes;
