//! A frame that a consumer has borrowed.

use std::ops::Deref;
use std::time::Duration;

use super::{Consumer, Found};
use crate::end::End;
use crate::layout::{FrameView, Header};
use mdreel_core::error::Result;

/// The next frame or the end.
#[derive(Debug)]
pub enum Next<'a> {
    /// A frame, which is borrowed until this value is dropped.
    Frame(Borrowed<'a>),
    /// No more frames will come.
    End(End),
}

/// A borrowed frame, which the producer cannot overwrite.
#[derive(Debug)]
pub struct Borrowed<'a> {
    consumer: &'a mut Consumer,
    header: Header,
}

impl<'a> Borrowed<'a> {
    /// Creates the value for the frame with this header that `consumer` has borrowed.
    pub(super) fn new(consumer: &'a mut Consumer, header: Header) -> Self {
        Borrowed { consumer, header }
    }

    /// Returns the header of the frame.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the frame with its sections. The sections are not copied.
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
    /// Returns the next frame, or the end. If the frame is available, this usually makes no system call. Returns `StreamTimeout` if
    /// nothing came within `at_most`, and `Stream` if the producer has died. Both errors leave the consumer unchanged, and `next`
    /// may be called again.
    pub fn next(&mut self, at_most: Duration) -> Result<Next<'_>> {
        Ok(match self.find(at_most)? {
            Found::Frame(header) => Next::Frame(self.borrowed(header)),
            Found::End(end) => Next::End(end),
        })
    }

    /// Returns the borrowed frame, which is given back when it is dropped.
    pub(crate) fn borrowed(&mut self, header: Header) -> Borrowed<'_> {
        Borrowed::new(self, header)
    }
}
