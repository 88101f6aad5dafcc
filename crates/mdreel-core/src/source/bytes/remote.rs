//! Remote files: requests for byte ranges, and retries after failures.

mod stream;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

pub(super) use stream::Stream;

/// Size of the blocks in bytes that small reads (headers, the index) fetch and keep.
const BLOCK: u64 = 16 << 10;
/// Maximum number of blocks kept.
const MOST_BLOCKS: usize = 512;
/// Number of attempts for a request before the error is returned.
const ATTEMPTS: u32 = 6;
/// The pause after the first failure. It doubles after each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// A client that requests bytes from a server.
pub trait Fetch: Send + Sync {
    /// Returns the bytes of each range (ascending, none empty), or the reason why they are unavailable at the moment.
    fn fetch(&self, ranges: &[Range<u64>]) -> std::result::Result<Vec<Vec<u8>>, String>;
}

/// A file on a server.
pub struct RemoteFile {
    url: PathBuf,
    len: u64,
    version: String,
    fetch: Arc<dyn Fetch>,
    blocks: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
    n_fetched: AtomicU64,
}

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteFile").field("url", &self.url).field("len", &self.len).finish_non_exhaustive()
    }
}

impl RemoteFile {
    /// Describes the file at `url` of `len` bytes. `version` changes whenever the content changes.
    pub fn new(url: &str, len: u64, version: String, fetch: Arc<dyn Fetch>) -> Self {
        RemoteFile { url: url.into(), len, version, fetch, blocks: Mutex::default(), n_fetched: AtomicU64::new(0) }
    }

    pub(in crate::source) fn path(&self) -> &Path {
        &self.url
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn n_fetched(&self) -> u64 {
        self.n_fetched.load(Ordering::Relaxed)
    }

    /// Fetches the bytes of each range. After a failure, it repeats the request with increasing pauses.
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let failure = match self.fetch.fetch(ranges) {
                Ok(parts) => match wrong_length(ranges, &parts) {
                    None => {
                        self.n_fetched.fetch_add(parts.iter().map(|part| part.len() as u64).sum(), Ordering::Relaxed);
                        return Ok(parts);
                    }
                    Some(failure) => failure,
                },
                Err(failure) => failure,
            };
            if attempt == ATTEMPTS {
                let byte = ranges.first().map(|range| range.start);
                let message = format!("the server failed {ATTEMPTS} times: {failure}");
                return Err(Error::format(&self.url, None, byte, message));
            }
            std::thread::sleep(pause);
            pause *= 2;
            attempt += 1;
        }
    }

    /// Fills `buffer` with the bytes from `offset` on. It takes them from the blocks kept where possible.
    pub(super) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(buffer.len() as u64);
        if end > self.len {
            let message = format!("bytes up to {end} were expected, but the file ends at byte {}", self.len);
            return Err(Error::format(&self.url, None, Some(offset), message));
        }
        let mut at = offset;
        while at < end {
            let block = self.block(at / BLOCK)?;
            let within = (at % BLOCK) as usize;
            let n = (block.len() - within).min((end - at) as usize);
            let target = (at - offset) as usize;
            buffer[target..target + n].copy_from_slice(&block[within..within + n]);
            at += n as u64;
        }
        Ok(())
    }

    fn block(&self, number: u64) -> Result<Arc<[u8]>> {
        let kept = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = kept().iter().find(|(kept, _)| *kept == number) {
            return Ok(Arc::clone(block));
        }
        let range = number * BLOCK..self.len.min((number + 1) * BLOCK);
        let block: Arc<[u8]> = self.fetch(std::slice::from_ref(&range))?.swap_remove(0).into();
        let mut kept = kept();
        kept.push_back((number, Arc::clone(&block)));
        if kept.len() > MOST_BLOCKS {
            kept.pop_front();
        }
        Ok(block)
    }
}

fn wrong_length(ranges: &[Range<u64>], parts: &[Vec<u8>]) -> Option<String> {
    if parts.len() != ranges.len() {
        return Some(format!("{} ranges were asked for, {} came", ranges.len(), parts.len()));
    }
    let wrong = ranges.iter().zip(parts).find(|(range, part)| part.len() as u64 != range.end - range.start);
    wrong.map(|(range, part)| {
        format!("{} bytes from {} on were asked for, {} came", range.end - range.start, range.start, part.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::FileBytes;
    use super::*;

    /// A server with a file in memory. Every n-th request fails, in one of two ways.
    struct Server {
        bytes: Vec<u8>,
        fails_every: u64,
        n_requests: AtomicU64,
    }

    impl Fetch for Server {
        fn fetch(&self, ranges: &[Range<u64>]) -> std::result::Result<Vec<Vec<u8>>, String> {
            let number = self.n_requests.fetch_add(1, Ordering::Relaxed) + 1;
            let mut parts: Vec<_> =
                ranges.iter().map(|range| self.bytes[range.start as usize..range.end as usize].to_vec()).collect();
            match number.checked_rem(self.fails_every) {
                Some(0) if number.is_multiple_of(2) => Err("connection reset".into()),
                Some(0) => {
                    parts[0].pop();
                    Ok(parts)
                }
                _ => Ok(parts),
            }
        }
    }

    fn file(len: usize, fails_every: u64) -> (FileBytes, Vec<u8>) {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
        let server = Server { bytes: bytes.clone(), fails_every, n_requests: AtomicU64::new(0) };
        let remote = RemoteFile::new("test://file", len as u64, "1".into(), Arc::new(server));
        (FileBytes::remote(remote), bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn remote_gives_the_bytes_asked_for(
            // Steps forward or back and lengths, in units that cross chunks within a few loads.
            steps in prop::collection::vec((-300_000i64..900_000, 0u64..1_500_000, 1usize..4), 1..12),
            until in prop::option::of(0u64..12_000_000),
            fails_every in prop::option::of(3u64..7),
        ) {
            let (file, bytes) = file(10_000_000, fails_every.unwrap_or(0));
            let mut reader = file.reader();
            until.into_iter().for_each(|until| reader.expect_until(until));
            let mut at = 0i64;
            for (step, length, count) in steps {
                let start = (at + step).clamp(0, 9_000_000) as u64;
                let ranges: Vec<_> = (0..count as u64)
                    .map(|i| (start + i * length).min(10_000_000)..(start + (i + 1) * length - length / 3).min(10_000_000))
                    .map(|range| range.start.min(range.end)..range.end)
                    .filter(|range| !range.is_empty())
                    .collect();
                reader.load(&ranges).unwrap();
                for (i, range) in ranges.iter().enumerate() {
                    prop_assert_eq!(reader.get(i), &bytes[range.start as usize..range.end as usize]);
                    at = range.end as i64;
                }
                reader.confirm().unwrap();
            }
        }
    }

    #[test]
    fn remote_asks_for_no_byte_twice_nor_for_more_than_was_expected() {
        let (file, _) = file(40_000_000, 0);
        let mut reader = file.reader();
        reader.expect_until(30_000_000);
        for start in (1_000_000..30_000_000).step_by(500_000) {
            reader.load(std::slice::from_ref(&(start..start + 500_000))).unwrap();
        }
        assert_eq!(file.n_fetched(), Some(29_000_000));
    }

    #[test]
    fn remote_keeps_what_small_reads_brought() {
        let (file, bytes) = file(300_000, 0);
        for offset in [0, 1_000, 65_530, 299_990, 10] {
            let mut buffer = [0; 10];
            file.read_exact(&mut buffer, offset).unwrap();
            assert_eq!(buffer, bytes[offset as usize..offset as usize + 10]);
        }
        // Fetched blocks: the first one, the two that share the border crossed by the third read, and the last one.
        assert_eq!(file.n_fetched(), Some(3 * BLOCK + 300_000 % BLOCK));
        let error = file.read_exact(&mut [0; 10], 299_991).unwrap_err().to_string();
        assert!(error.contains("test://file, byte 299991") && error.contains("ends at byte 300000"), "{error}");
    }

    #[test]
    fn remote_failure_is_an_error_that_says_what_the_server_said() {
        let (file, _) = file(300_000, 1);
        let error = file.read_vec(5..10).unwrap_err().to_string();
        assert!(error.contains("test://file, byte 0: the server failed 6 times: "), "{error}");
    }
}
