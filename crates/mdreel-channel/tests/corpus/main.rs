//! Replays the inputs that the fuzzer starts from and those that it found; see `./task fuzz`.

mod channel_frame;

use std::path::PathBuf;

#[test]
fn every_kept_frame_of_a_channel_passes_its_check() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "fuzz", "seeds", "channel_frame"].iter().collect();
    let mut paths: Vec<_> = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 2, "{}: {} inputs", folder.display(), paths.len());
    for path in paths {
        let bytes = std::fs::read(&path).expect("a file");
        let checked = std::panic::catch_unwind(|| channel_frame::check(&bytes));
        assert!(checked.is_ok(), "{} fails", path.display());
    }
}
