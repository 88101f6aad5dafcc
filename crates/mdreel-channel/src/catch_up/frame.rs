//! A frame that was found in the ring or in staging.

use std::ops::Deref;
use std::path::Path;

use crate::consumer::Borrowed;
use crate::layout::{FrameView, Header};
use mdreel_core::error::Result;

/// A frame in the ring, which the producer cannot overwrite while this value lives, or a copy from staging.
#[derive(Debug)]
pub struct Frame<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: Bytes<'a>,
}

/// The place of the bytes of a frame.
#[derive(Debug)]
pub(super) enum Bytes<'a> {
    /// A frame that is borrowed in the ring.
    Ring(Borrowed<'a>),
    /// The header of a frame, and its bytes in the buffer of the reader of staging.
    Staged(Header, &'a [u8]),
}

impl Frame<'_> {
    /// Returns the header of the frame.
    pub fn header(&self) -> &Header {
        match &self.bytes {
            Bytes::Ring(borrowed) => borrowed.header(),
            Bytes::Staged(header, _) => header,
        }
    }

    /// Returns the frame with its sections.
    pub fn view(&self) -> Result<FrameView<'_>> {
        FrameView::decode(self.path, self)
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Ring(borrowed) => &borrowed[..],
            Bytes::Staged(_, bytes) => bytes,
        }
    }
}
