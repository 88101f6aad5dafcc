//! Output files of trajectories.

use std::io::Write;
use std::path::Path;

use super::positioned::write_all_at;
use super::{Encoder, PartFile};
use crate::error::Result;
use crate::frame::FrameBatch;

/// A writer of a trajectory file, which appears when it is complete ([`FileWriter::finish`]). If the writer is dropped
/// earlier, or if the disk is full, no file is left.
pub struct FileWriter<E> {
    encoder: E,
    file: PartFile,
    n_frames: u64,
    buffer: Vec<u8>,
}

impl<E: Encoder> FileWriter<E> {
    /// Creates a file. `path` is not touched until the file is complete.
    pub fn create(path: &Path, encoder: E) -> Result<Self> {
        let mut writer = FileWriter { encoder, file: PartFile::create(path)?, n_frames: 0, buffer: Vec::new() };
        let mut beginning = Vec::new();
        writer.encoder.begin(&mut beginning)?;
        writer.append(&beginning, 0)?;
        Ok(writer)
    }

    /// Returns the encoder, for workers that encode frames in parallel.
    pub(crate) fn encoder(&self) -> &E {
        &self.encoder
    }

    /// Encodes and appends frames.
    pub fn write(&mut self, batch: &FrameBatch) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.encoder.encode(batch, &mut buffer)?;
        self.append(&buffer, batch.len() as u64)?;
        self.buffer = buffer;
        Ok(())
    }

    /// Appends `n_frames` frames that are already encoded.
    pub(crate) fn append(&mut self, encoded: &[u8], n_frames: u64) -> Result<()> {
        self.file.with(|file| file.write_all(encoded))?;
        self.n_frames += n_frames;
        Ok(())
    }

    /// Returns the number of frames written so far.
    pub(crate) fn n_frames(&self) -> u64 {
        self.n_frames
    }

    /// Completes the file and gives it its final name. It replaces a file that had the name before.
    pub fn finish(mut self) -> Result<()> {
        for (at, bytes) in self.encoder.end(self.n_frames)? {
            self.file.with(|file| write_all_at(file, &bytes, at))?;
        }
        self.file.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::frame::{FrameHeader, Quantities};

    /// A test format: the number of frames, and the x of each atom.
    struct Plain {
        fails: bool,
    }

    impl Encoder for Plain {
        fn begin(&self, out: &mut Vec<u8>) -> Result<()> {
            out.extend(u64::MAX.to_le_bytes());
            Ok(())
        }

        fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
            if self.fails {
                return Err(Error::mismatch("on purpose"));
            }
            (0..batch.len()).for_each(|i| out.extend(batch.columns(i).x.iter().flat_map(|x| x.to_le_bytes())));
            Ok(())
        }

        fn end(&self, n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
            Ok(vec![(0, n_frames.to_le_bytes().to_vec())])
        }
    }

    fn batch() -> FrameBatch {
        let mut batch = FrameBatch::with_capacity(2, 4);
        let header =
            FrameHeader { index: 0, step: 0, time: 0.0, unit_cell: None, lambda: None, present: Quantities::POSITIONS };
        batch.push(header).x.copy_from_slice(&[1.0, 2.0]);
        batch
    }

    fn names(directory: &Path) -> Vec<String> {
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn file_gets_its_name_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.plain");
        std::fs::write(&path, "before").unwrap();
        let mut writer = FileWriter::create(&path, Plain { fails: false }).unwrap();
        writer.write(&batch()).unwrap();
        writer.append(&[9; 8], 1).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        writer.finish().unwrap();
        let expected = [&2u64.to_le_bytes()[..], &1f32.to_le_bytes(), &2f32.to_le_bytes(), &[9; 8]].concat();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(names(directory.path()), ["a.plain"]);
    }

    #[test]
    fn file_is_gone_when_it_was_not_finished() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = FileWriter::create(&directory.path().join("a.plain"), Plain { fails: true }).unwrap();
        assert!(writer.write(&batch()).is_err());
        drop(writer);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn file_that_cannot_be_made_is_named() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("missing/a.plain")] {
            let error = FileWriter::create(&path, Plain { fails: false }).err().unwrap();
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}
