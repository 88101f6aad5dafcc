//! A test that the program which measures channels for the benchmarks runs with each kind of frame.

#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::Command;

/// Returns the path of the program, which `cargo test` builds next to this test.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this test");
    let folder = own.parent().and_then(|deps| deps.parent()).expect("a folder of build results");
    folder.join("examples/channel")
}

#[test]
fn measures_are_printed_for_each_frame() {
    let program = program();
    assert!(program.exists(), "{} is missing: cargo build --examples", program.display());
    for bytes_an_atom in ["12", "28"] {
        let done = Command::new(&program).args(["100", bytes_an_atom, "4", "9"]).output().expect("a process");
        let (printed, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{said}");
        for name in ["copy", "checksum", "publish", "take", "copy and wake-up", "arrival", "publish to a sleeper"] {
            let (_, rest) = printed.split_once(&format!("\"{name}\": [")).expect("the measure is printed");
            let times = rest.split(']').next().expect("a list").split(", ");
            let times: Vec<u64> = times.map(|time| time.parse().expect("a number")).collect();
            assert!(times.len() >= 9, "{name}: {times:?}");
        }
    }
}
