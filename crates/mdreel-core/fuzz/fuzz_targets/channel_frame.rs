//! Any bytes as a frame of a channel.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| channel_frame::check(bytes));
