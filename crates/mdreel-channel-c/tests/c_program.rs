//! Tests of producers in C and C++: consumers get what the program publishes. Without a compiler, the tests do nothing.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mdreel_channel::catch_up::{CatchUp, Next};
use mdreel_channel::consumer::Start;
use mdreel_channel::end::End;
use mdreel_channel::section::{DataType, SectionKind};

const N_ATOMS: usize = 5;

/// Compiles a program and returns its path, or `None` without a compiler.
fn compiled(source: &str, into: &Path, compiler: &str) -> Option<PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = std::env::current_exe().unwrap();
    let libraries = test.parent().unwrap();
    let library = libraries.join("libmdreel_channel_c.so");
    assert!(library.exists(), "{} was not built", library.display());
    let program = into.join("program");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(crate_folder.join("include"));
    command.arg(crate_folder.join("tests").join(source)).arg("-o").arg(&program).arg(&library);
    command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", text(&output));
            Some(program)
        }
        Err(_) => None,
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}

#[test]
fn frames_of_a_program_in_c_are_as_it_has_made_them() {
    let place = tempfile::tempdir().unwrap();
    let Some(program) = compiled("produce.c", place.path(), "cc") else { return };
    let channel = place.path().join("channel");
    let mut command = Command::new(program);
    command.arg(&channel).arg(place.path().join("staging"));
    let program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program publishes nothing before a consumer has joined.
    let until = Instant::now() + Duration::from_secs(20);
    let mut first = loop {
        match CatchUp::join(&channel, Start::Earliest) {
            Ok(reader) => break reader,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(matches!(first.next(Duration::from_secs(20)).unwrap(), Next::Frame(_)));
    drop(first);
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let mut reader = CatchUp::join(&channel, Start::Earliest).unwrap();
    assert_eq!(reader.manifest().sections.len(), 2);
    let mut step = 0;
    loop {
        match reader.next(Duration::from_secs(20)).unwrap() {
            Next::End(end) => {
                assert_eq!((step, end), (20, End::Finished));
                return;
            }
            Next::Frame(frame) => {
                let view = frame.view().unwrap();
                assert_eq!((view.header.step, view.header.time), (10 * step, 0.02 * step as f64));
                assert_eq!(view.header.cell, Some([10.0, 0.0, 0.0, 1.0, 20.0, 0.0, 2.0, 3.0, 30.0]));
                let positions: Vec<_> = (0..3 * N_ATOMS).map(|i| step as f64 + 0.5 * i as f64).collect();
                let forces: Vec<_> = positions.iter().map(|position| -position).collect();
                let sections: Vec<_> = view.sections().collect();
                assert_eq!(
                    sections.iter().map(|section| section.kind).collect::<Vec<_>>(),
                    [SectionKind::Positions, SectionKind::Forces]
                );
                assert!(sections.iter().all(|section| section.data_type == DataType::Float64));
                assert_eq!((numbers(sections[0].bytes), numbers(sections[1].bytes)), (positions, forces));
                step += 1;
            }
        }
    }
}

#[test]
fn header_is_one_of_cpp_as_well() {
    let place = tempfile::tempdir().unwrap();
    let Some(program) = compiled("settings.cpp", place.path(), "c++") else { return };
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}
