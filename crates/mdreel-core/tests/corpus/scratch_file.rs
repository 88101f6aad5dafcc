//! A file in shared memory if the system has it. Sources read files, and a disk would be slow.

use std::io::Write;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// A temporary file that is removed when it is dropped.
pub(crate) struct ScratchFile(NamedTempFile);

impl ScratchFile {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let shared_memory = Path::new("/dev/shm");
        let directory = if shared_memory.is_dir() { shared_memory.to_owned() } else { std::env::temp_dir() };
        let mut file = Builder::new().prefix("mdreel-fuzz-").tempfile_in(directory).expect("a temporary file");
        file.write_all(bytes).expect("room for a small file");
        ScratchFile(file)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
