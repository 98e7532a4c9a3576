//! Compiles the cases beside it: `pass/` compiles and runs, `fail/` fails with just the text of
//! its `.stderr`.

use std::path::Path;
use std::process::Command;

/// The compiler whose wording the `.stderr` files have: the one of `rust-toolchain.toml`.
const PINNED: &str = "rustc 1.95.0 ";

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    let compare = is_pinned();
    for part in ["handler", "event", "emit"] {
        if Path::new(part).join("pass").is_dir() {
            cases.pass(format!("{part}/pass/*.rs"));
        }
        if compare && Path::new(part).join("fail").is_dir() {
            cases.compile_fail(format!("{part}/fail/*.rs"));
        }
    }
}

/// Whether the compiler's own words are those that the cases were written with.
fn is_pinned() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let pinned = version.starts_with(PINNED);
    if !pinned {
        eprintln!(
            "the `fail` cases are skipped: their texts are those of {PINNED}, this is {version}"
        );
    }
    pinned
}
