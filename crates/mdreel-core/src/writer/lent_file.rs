//! Files for a library that cannot handle write errors.

use std::path::Path;

use super::PartFile;
use super::positioned;
use crate::error::{Error, Result};

/// A file that another library writes at any position, such as the HDF5 library. That library cannot close a file on a
/// full disk: it retries until the process ends, and may end the process. It therefore never learns of an error. After
/// the first write that fails, further data stays in memory, and reads return it. [`LentFile::check`] reports the
/// failure, and the file never gets its final name.
#[derive(Debug)]
pub struct LentFile {
    file: PartFile,
    /// The error of the operating system, if a write or read failed and [`LentFile::check`] has not reported it yet.
    failure: Option<Error>,
    is_given_up: bool,
    /// Data that did not reach the disk, with its positions.
    kept: Vec<(u64, Vec<u8>)>,
    len: u64,
}

impl LentFile {
    /// Creates a file. `path` is not touched until the file is complete.
    pub fn create(path: &Path) -> Result<Self> {
        let file = PartFile::create(path)?;
        Ok(LentFile { file, failure: None, is_given_up: false, kept: Vec::new(), len: 0 })
    }

    /// Returns the length of the file in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes `bytes` at the position `at`.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        if !self.is_lost()
            && let Err(error) = self.file.with(|file| positioned::write_all_at(file, bytes, at))
        {
            self.failure = Some(error);
        }
        if self.is_lost() {
            self.kept.push((at, bytes.to_vec()));
        }
        self.len = self.len.max(at.saturating_add(bytes.len() as u64));
    }

    /// Reads bytes at the position `at`, as many as there are. Returns their number.
    pub fn read(&mut self, at: u64, bytes: &mut [u8]) -> usize {
        let n = self.len.saturating_sub(at).min(bytes.len() as u64) as usize;
        let bytes = &mut bytes[..n];
        bytes.fill(0);
        if let Err(error) = self.file.with(|file| read_at(file, bytes, at)) {
            self.failure.get_or_insert(error);
        }
        for (start, kept) in &self.kept {
            let end = start + kept.len() as u64;
            let (first, last) = (at.max(*start), end.min(at + n as u64));
            if first < last {
                let (to, from) = ((first - at) as usize, (first - start) as usize);
                let length = (last - first) as usize;
                bytes[to..to + length].copy_from_slice(&kept[from..from + length]);
            }
        }
        n
    }

    /// Truncates or extends the file.
    pub fn set_len(&mut self, len: u64) {
        if !self.is_lost()
            && let Err(error) = self.file.with(|file| file.set_len(len))
        {
            self.failure = Some(error);
        }
        self.len = len;
    }

    /// Returns the first failure, if there is one. Each failure is returned only once.
    pub fn check(&mut self) -> Result<()> {
        self.is_given_up |= self.failure.is_some();
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Abandons the file: no further data is written to disk.
    pub fn give_up(&mut self) {
        self.is_given_up = true;
    }

    /// Gives the file its final name, unless something failed. It replaces a file that had the name before.
    pub fn finish(mut self) -> Result<()> {
        self.check()?;
        if self.is_given_up {
            return Err(Error::mismatch("the file was given up").in_file(self.file.path()));
        }
        self.file.finish()
    }

    fn is_lost(&self) -> bool {
        self.is_given_up || self.failure.is_some()
    }
}

/// Fills `bytes` as far as the file reaches.
fn read_at(file: &std::fs::File, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match positioned::read_at(file, &mut bytes[done..], at + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lent_file_reads_what_was_written_before_and_after_it_was_given_up(
            writes in prop::collection::vec((0u64..200, prop::collection::vec(1u8.., 1..60)), 1..20),
            n_kept in 0usize..20,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.h5");
            let mut file = LentFile::create(&path).unwrap();
            let mut expected = Vec::new();
            for (i, (at, bytes)) in writes.iter().enumerate() {
                if i + n_kept == writes.len() {
                    file.give_up();
                }
                file.write(*at, bytes);
                let end = *at as usize + bytes.len();
                expected.resize(expected.len().max(end), 0);
                expected[*at as usize..end].copy_from_slice(bytes);
            }
            prop_assert_eq!(file.len(), expected.len() as u64);
            let mut seen = vec![9; 300];
            for at in [0, 17, 250] {
                let n = file.read(at, &mut seen);
                prop_assert_eq!(&seen[..n], expected.get(at as usize..).unwrap_or(&[]));
            }
            let is_given_up = (1..=writes.len()).contains(&n_kept);
            prop_assert_eq!(file.finish().is_err(), is_given_up);
            prop_assert_eq!(std::fs::read(&path).ok(), (!is_given_up).then_some(expected));
            prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), usize::from(!is_given_up));
        }
    }

    #[test]
    fn lent_file_tells_of_a_failure_and_never_gets_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.h5");
        let mut file = LentFile::create(&path).unwrap();
        file.write(0, &[1, 2]);
        file.write(u64::MAX >> 1, &[3]); // no file can be this long
        let mut seen = [0; 2];
        assert_eq!((file.read(0, &mut seen), seen), (2, [1, 2]));
        assert_eq!(file.read(u64::MAX >> 1, &mut seen), 1);
        assert_eq!(seen[0], 3);
        let error = file.check().unwrap_err().to_string();
        assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        file.write(2, &[4]);
        assert!(file.finish().is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
