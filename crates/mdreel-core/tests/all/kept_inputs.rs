//! Replay of the fuzzer's seeds and findings. See `./task fuzz`.

use std::path::PathBuf;

/// Checks each stored input of a fuzz target.
fn replay(target: &str, check: fn(&[u8])) {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "fuzz", "seeds", target].iter().collect();
    let mut paths: Vec<_> = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 2, "{}: {} inputs", folder.display(), paths.len());
    for path in paths {
        let bytes = std::fs::read(&path).expect("a file");
        let checked = std::panic::catch_unwind(|| check(&bytes));
        assert!(checked.is_ok(), "{} fails", path.display());
    }
}

macro_rules! replayed {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), crate::$target::check);
        })*
    };
}

mod every_kept_input_passes_its_check {
    use super::*;

    replayed!(chunked_file dcd_file netcdf3_file trr_file xtc_encode xtc_file xtc_valid);
}
