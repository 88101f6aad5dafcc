//! TRR reader and writer, compared with an oracle that reads number by number.

mod blocks;
mod corrupt;
mod reading_frames;
mod writing;
