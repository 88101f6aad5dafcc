//! Fuzz target that checks any bytes as a frame of a channel.
#![no_main]

#[path = "../../tests/corpus/channel_frame.rs"]
mod channel_frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| channel_frame::check(bytes));
