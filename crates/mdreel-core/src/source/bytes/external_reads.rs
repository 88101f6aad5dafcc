//! Reading of ranges of bytes by another library, such as MPI-IO.

use std::fmt;
use std::ops::Range;

use super::FileBytes;
use crate::error::{Error, Result};

/// Another library that reads the bytes for readers. Single headers and the file size still come from the file system.
pub trait ExternalReads: Send + Sync {
    /// Fills `target` with the bytes of all `ranges` (ascending, none empty), one range after the other. Returns the
    /// number of bytes read, which is smaller if the file ends early. On failure, returns the reason.
    fn read(&self, ranges: &[Range<u64>], target: &mut [u8]) -> std::result::Result<usize, String>;
}

impl fmt::Debug for dyn ExternalReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExternalReads")
    }
}

impl FileBytes {
    /// Fills `target` with the bytes of `ranges`, read by `reads`.
    pub(super) fn read_externally(
        &self,
        reads: &dyn ExternalReads,
        ranges: &[Range<u64>],
        target: &mut [u8],
    ) -> Result<()> {
        let Some(first) = ranges.first() else { return Ok(()) };
        let n_bytes = reads
            .read(ranges, target)
            .map_err(|message| Error::format(self.path(), None, Some(first.start), message))?;
        if n_bytes >= target.len() {
            return Ok(());
        }
        let mut behind = 0;
        let is_short = |range: &&Range<u64>| {
            behind += range.end - range.start;
            behind > n_bytes as u64
        };
        let short = ranges.iter().find(is_short).unwrap_or(first);
        if self.size_now()? < short.end {
            return Err(self.ends_early(short.start, short.end));
        }
        let message = format!("{n_bytes} of {} bytes came, although the file is long enough", target.len());
        Err(Error::format(self.path(), None, Some(short.start), message))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::{Access, OpenFiles};
    use super::*;

    /// A library with the bytes in memory. It records which ranges it was asked for.
    struct Memory {
        bytes: Vec<u8>,
        asked: Mutex<Vec<Range<u64>>>,
    }

    impl ExternalReads for Memory {
        fn read(&self, ranges: &[Range<u64>], target: &mut [u8]) -> std::result::Result<usize, String> {
            self.asked.lock().unwrap().extend_from_slice(ranges);
            let there = |at: u64| (at as usize).min(self.bytes.len());
            let mut at = 0;
            for range in ranges {
                let part = &self.bytes[there(range.start)..there(range.end)];
                target[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            if self.bytes.is_empty() { Err("the library failed".to_owned()) } else { Ok(at) }
        }
    }

    /// Creates a file of 300,000 zeros, and a library that returns other bytes for it.
    fn file(bytes: Vec<u8>) -> (tempfile::NamedTempFile, Arc<Memory>, FileBytes) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![0; 300_000]).unwrap();
        let memory = Arc::new(Memory { bytes, asked: Mutex::default() });
        let opened = FileBytes::open_among(file.path(), Access::Read, Arc::new(OpenFiles::default())).unwrap();
        let opened = opened.read_by(Arc::clone(&memory) as _);
        (file, memory, opened)
    }

    #[test]
    fn loads_come_from_the_library_and_single_reads_from_the_file() {
        let (_kept, memory, file) = file((0..300_000).map(|i| (i % 251) as u8).collect());
        let mut reader = file.reader();
        let ranges = [5..10, 100..200, 250_000..299_000];
        assert_eq!(reader.load(&ranges).unwrap(), 195 + 49_000);
        for (i, range) in ranges.iter().enumerate() {
            let expected: Vec<u8> = range.clone().map(|at| (at % 251) as u8).collect();
            assert_eq!(reader.get(i), expected);
        }
        reader.confirm().unwrap();
        assert_eq!(*memory.asked.lock().unwrap(), [5..200, 250_000..299_000]);
        assert_eq!(file.read_vec(5..8).unwrap(), [0; 3]);
        assert_eq!(reader.load(&[]).unwrap(), 0);
    }

    #[test]
    fn library_that_fails_or_gives_too_little_is_an_error() {
        let (_kept, _, failing) = file(Vec::new());
        let error = failing.reader().load(std::slice::from_ref(&(70..80))).unwrap_err().to_string();
        assert!(error.contains("byte 70: the library failed"), "{error}");
        let (kept, _, short) = file(vec![1; 1000]);
        let ranges = [10..20, 200_000..200_010];
        let error = short.reader().load(&ranges).unwrap_err().to_string();
        assert!(error.contains("byte 200000: 10 of 20 bytes came, although the file is long enough"), "{error}");
        std::fs::File::options().write(true).open(kept.path()).unwrap().set_len(1000).unwrap();
        let error = short.reader().load(&ranges).unwrap_err().to_string();
        assert!(error.contains("the file was cut while being read: it had 300000 bytes, now 1000"), "{error}");
    }
}
