//! Compiles the preloaded library for programs without mdreel support (`crates/mdreel-preload`), whose bytes the extension
//! contains. Also finds the commit that the extension is built from.
//!
//! `rustc` alone compiles the library, as it has no dependencies. The library is therefore available however the extension is
//! built, without a second build step.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Returns the commit of this checkout. It is empty in a source distribution, and if there is no git.
fn commit(checkout: &Path) -> String {
    if !checkout.join(".git").exists() {
        return String::new();
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(checkout).args(arguments).output().ok()?;
        let said = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(said.trim().to_owned())
    };
    // These files change with each commit and each checkout of another one.
    for name in ["HEAD", "logs/HEAD"] {
        let place =
            git(&["rev-parse", "--git-path", name]).map(|path| checkout.join(path)).filter(|path| path.exists());
        if let Some(place) = place {
            println!("cargo::rerun-if-changed={}", place.display());
        }
    }
    git(&["rev-parse", "HEAD"]).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    println!("cargo::rustc-env=MDREEL_COMMIT={}", commit(&root.join("..")));
    let sources = root.join("mdreel-preload/src");
    let names = root.join("mdreel-channel/src/managed/names.rs");
    for path in [Path::new("build.rs"), &sources, &names] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let library = Path::new(&env::var("OUT_DIR")?).join("libmdreel_preload.so");
    let is = |name: &str, values: &[&str]| env::var(name).is_ok_and(|value| values.contains(&value.as_str()));
    let is_supported = is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"]);
    if !is_supported {
        // The extension reports this when a caller requests the library.
        return Ok(std::fs::write(library, [])?);
    }
    let mut command = Command::new(env::var("RUSTC")?);
    command.args(["--crate-name", "mdreel_preload", "--crate-type", "cdylib", "--edition", "2024"]);
    command.args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "strip=symbols", "-C", "lto=fat"]);
    command.args(["--target", &env::var("TARGET")?]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={linker}"));
    }
    command.arg("-o").arg(&library).arg(sources.join("lib.rs"));
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}
