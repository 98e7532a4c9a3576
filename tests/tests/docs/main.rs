//! What the project says of itself is true: texts against sources, without a database.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod imports_go_down;
mod readme_commands;
mod scenarios_have_tests;

use std::path::{Path, PathBuf};

/// A path from the workspace's root.
fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
