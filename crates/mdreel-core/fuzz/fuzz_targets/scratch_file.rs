//! A file in memory where the system has one: sources read files, and a disk would be slow.

use std::fs;
use std::path::{Path, PathBuf};

/// Removed when dropped.
pub struct ScratchFile(PathBuf);

impl ScratchFile {
    pub fn new(bytes: &[u8]) -> Self {
        let shared_memory = Path::new("/dev/shm");
        let directory = if shared_memory.is_dir() { shared_memory.to_owned() } else { std::env::temp_dir() };
        let path = directory.join(format!("mdreel-fuzz-{}.bytes", std::process::id()));
        fs::write(&path, bytes).expect("room for a small file");
        ScratchFile(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
