//! Channels between the processes of one machine, and managed directories.
//!
//! A channel carries the frames of a running simulation to analyses on the same node, without a server. It is a directory of its
//! user. A producer publishes frames into a ring in shared memory; consumers borrow them from there. `source` makes a channel a
//! [`mdreel_core::source::Source`]. `docs/design/012-channel.md` has the protocol and its reasons. Everything but the layout of
//! frames is for Linux only.

pub mod layout;
pub mod section;

#[cfg(target_os = "linux")]
mod atomic;
#[cfg(target_os = "linux")]
mod futex;
#[cfg(target_os = "linux")]
mod protocol;

#[cfg(target_os = "linux")]
pub mod catch_up;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
pub mod consumer;
#[cfg(target_os = "linux")]
mod date;
#[cfg(target_os = "linux")]
pub mod directory;
#[cfg(target_os = "linux")]
pub mod end;
#[cfg(target_os = "linux")]
mod epochs;
#[cfg(target_os = "linux")]
mod fork;
#[cfg(target_os = "linux")]
pub mod group;
#[cfg(target_os = "linux")]
pub mod held;
#[cfg(target_os = "linux")]
mod lag;
#[cfg(target_os = "linux")]
mod lock;
#[cfg(target_os = "linux")]
mod loss;
#[cfg(target_os = "linux")]
pub mod managed;
#[cfg(target_os = "linux")]
pub mod manifest;
#[cfg(target_os = "linux")]
mod mapping;
#[cfg(target_os = "linux")]
mod missed;
#[cfg(target_os = "linux")]
pub mod participants;
#[cfg(target_os = "linux")]
pub mod producer;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
pub mod restart;
#[cfg(target_os = "linux")]
pub mod ring_file;
#[cfg(target_os = "linux")]
mod segment_maps;
#[cfg(target_os = "linux")]
pub mod source;
#[cfg(target_os = "linux")]
pub mod staging;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
pub mod status;

#[cfg(all(target_os = "linux", test))]
mod tests;
