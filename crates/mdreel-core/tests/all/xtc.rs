//! XTC reader, compared with an oracle that decodes bit by bit.

mod blocks;
mod corrupt;
mod decoding;
mod full_checks;
mod misled;
mod skipping;
