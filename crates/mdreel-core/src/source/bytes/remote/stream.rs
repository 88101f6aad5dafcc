//! A worker's stream of bytes from a server. For sequential reads, it requests bytes ahead.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use super::RemoteFile;
use crate::error::{Error, Result};

/// Number of bytes per request while reads are sequential.
const CHUNK: u64 = 4 << 20;
/// Number of requests in flight at a time.
const ON_THE_WAY: usize = 2;
/// Largest gap in bytes between two loads that still count as sequential.
const NEAR: u64 = 64 << 10;

/// The bytes of a remote file that one worker holds, and its pending requests.
#[derive(Debug, Default)]
pub(in crate::source::bytes) struct Stream {
    /// The position from which on the reader needs no bytes; 0 if unknown.
    until: u64,
    /// The end of the last load; `None` before the first load of a block.
    last_end: Option<u64>,
    /// The position in the file of the first byte in `bytes`.
    start: u64,
    bytes: VecDeque<u8>,
    /// The pending requests, in order.
    on_the_way: VecDeque<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    end: u64,
    receiver: Receiver<Result<Vec<u8>>>,
}

impl Stream {
    /// Starts a new part of the file. The reader needs no bytes from `end` on.
    pub(crate) fn expect_until(&mut self, end: u64) {
        self.until = end;
        self.last_end = None;
    }

    /// Reads `runs` (ascending) one after the other into `target`.
    pub(crate) fn read(&mut self, file: &Arc<RemoteFile>, runs: &[Range<u64>], target: &mut [u8]) -> Result<()> {
        let Some(last) = runs.last() else { return Ok(()) };
        // The first load of a part does not show whether reads are sequential: a reader may want only the beginnings of
        // large frames.
        let goes_on = |run: &Range<u64>| {
            run.end <= self.until
                && self.last_end.is_some_and(|end| self.start <= run.start && run.start <= end.saturating_add(NEAR))
        };
        match runs {
            [run] if goes_on(run) => self.read_on(file, run.clone(), target)?,
            _ => {
                self.begin(last.end);
                let mut used = 0;
                for part in file.fetch(runs)? {
                    target[used..used + part.len()].copy_from_slice(&part);
                    used += part.len();
                }
            }
        }
        self.last_end = Some(last.end);
        Ok(())
    }

    /// Discards all bytes, including the results of pending requests.
    fn begin(&mut self, start: u64) {
        self.start = start;
        self.bytes.clear();
        self.on_the_way.clear();
    }

    /// Returns the end of the received bytes.
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn read_on(&mut self, file: &Arc<RemoteFile>, run: Range<u64>, target: &mut [u8]) -> Result<()> {
        if (self.start..=self.end()).contains(&run.start) {
            self.bytes.drain(..(run.start - self.start) as usize);
            self.start = run.start;
        } else {
            self.begin(run.start);
        }
        while self.end() < run.end {
            let part = match self.on_the_way.pop_front() {
                Some(chunk) => chunk.receiver.recv().map_err(|_| Error::worker("a request was lost"))??,
                None => {
                    let wanted = self.end()..run.end.max(self.until.min(self.end() + CHUNK));
                    file.fetch(std::slice::from_ref(&wanted))?.swap_remove(0)
                }
            };
            self.bytes.extend(part);
        }
        self.ask_ahead(file)?;
        let (front, back) = self.bytes.as_slices();
        let length = (run.end - run.start) as usize;
        let n = front.len().min(length);
        target[..n].copy_from_slice(&front[..n]);
        target[n..length].copy_from_slice(&back[..length - n]);
        Ok(())
    }

    fn ask_ahead(&mut self, file: &Arc<RemoteFile>) -> Result<()> {
        while self.on_the_way.len() < ON_THE_WAY {
            let start = self.on_the_way.back().map_or(self.end(), |chunk| chunk.end);
            if start >= self.until {
                break;
            }
            let range = start..self.until.min(start + CHUNK);
            let (sender, receiver) = mpsc::channel();
            self.on_the_way.push_back(Chunk { end: range.end, receiver });
            let file = Arc::clone(file);
            let ask = move || {
                let part = file.fetch(std::slice::from_ref(&range)).map(|mut parts| parts.swap_remove(0));
                // After a jump, the reader has dropped the receiver, and sending fails.
                let _ = sender.send(part);
            };
            std::thread::Builder::new()
                .name("mdreel-fetch".into())
                .spawn(ask)
                .map_err(|error| Error::worker(format!("a thread could not be started: {error}")))?;
        }
        Ok(())
    }
}
