//! A frame that a consumer has borrowed.

use std::ops::Deref;

use super::consumer::Consumer;
use super::layout::{FrameView, Header};
use mdreel_core::error::Result;

/// A frame that the producer cannot overwrite while this lives.
#[derive(Debug)]
pub struct Borrowed<'a> {
    consumer: &'a mut Consumer,
    header: Header,
}

impl<'a> Borrowed<'a> {
    /// The frame that `consumer` has borrowed.
    pub(super) fn new(consumer: &'a mut Consumer, header: Header) -> Self {
        Borrowed { consumer, header }
    }

    /// The frame's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The frame with its sections, which lie in the ring.
    pub fn view(&self) -> Result<FrameView<'_>> {
        FrameView::decode(self.consumer.path(), self)
    }
}

impl Deref for Borrowed<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.consumer.bytes()
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}
