//! A frame that a consumer has borrowed.

use std::ops::Deref;
use std::time::Duration;

use super::{Consumer, Found};
use crate::end::End;
use crate::layout::{FrameView, Header};
use mdreel_core::error::Result;

/// What comes next.
#[derive(Debug)]
pub enum Next<'a> {
    /// A frame, borrowed until this is dropped.
    Frame(Borrowed<'a>),
    /// No more frames will come.
    End(End),
}

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

impl Consumer {
    /// The next frame, or the end. Without system call if the frame is there. `StreamTimeout` if nothing came within `at_most`,
    /// `Stream` if the producer has died; both leave the consumer as it was, and it may be asked again.
    pub fn next(&mut self, at_most: Duration) -> Result<Next<'_>> {
        Ok(match self.find(at_most)? {
            Found::Frame(header) => Next::Frame(self.borrowed(header)),
            Found::End(end) => Next::End(end),
        })
    }

    /// The frame that is borrowed, for who gives it back by dropping it.
    pub(crate) fn borrowed(&mut self, header: Header) -> Borrowed<'_> {
        Borrowed::new(self, header)
    }
}
