//! Where PostgreSQL's programs are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

/// Names the directory of PostgreSQL's programs: for testing with another major version.
const OVERRIDE: &str = "OUTBOX_PG_BIN";

/// What the server needs of them.
const NEEDED: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// Directories that packages install to: parent, then the beginning and the end of what is in it.
const USUAL: [(&str, &str, &str); 5] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

#[cfg(not(feature = "embedded"))]
const MISSING: &str = "no PostgreSQL server programs found (initdb, pg_ctl, postgres)
help: install them (Debian, Ubuntu: `apt-get install postgresql`; Fedora: `dnf install postgresql-server`; \
macOS: `brew install postgresql`), or set OUTBOX_PG_BIN to the directory that has them, \
or add `--features embedded` to download them";

/// A directory with PostgreSQL's server programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs(PathBuf);

impl Programs {
    /// The directory that `OUTBOX_PG_BIN` names; else the first that has all: on `PATH`, as
    /// `pg_config` says, where packages install to (the newest version first), a download with the
    /// feature `embedded`.
    pub(crate) fn find() -> Result<Self> {
        if let Some(directory) = env::var_os(OVERRIDE) {
            let directory = PathBuf::from(directory);
            if !has_all(&directory) {
                bail!(
                    "{OVERRIDE} is `{}`, which lacks one of {}",
                    directory.display(),
                    NEEDED.join(", ")
                );
            }
            return Ok(Self(directory));
        }
        if let Some(directory) = on_path()
            .into_iter()
            .chain(from_pg_config())
            .chain(USUAL.iter().flat_map(installed))
            .find(|directory| has_all(directory))
        {
            return Ok(Self(directory));
        }
        #[cfg(feature = "embedded")]
        return crate::embedded::install().map(Self);
        #[cfg(not(feature = "embedded"))]
        bail!(MISSING)
    }

    /// The path of `program`; a client that is installed elsewhere keeps its bare name.
    pub(crate) fn path(&self, program: &str) -> PathBuf {
        let path = self.0.join(program);
        if path.is_file() { path } else { program.into() }
    }
}

fn has_all(directory: &Path) -> bool {
    NEEDED
        .iter()
        .all(|program| directory.join(program).is_file())
}

/// The directories on `PATH`; where one has a link to `postgres`, the directory that it leads to.
fn on_path() -> Vec<PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .filter_map(|directory| {
            let postgres = directory.join("postgres").canonicalize().ok()?;
            postgres.parent().map(Path::to_owned)
        })
        .collect()
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let directory = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(directory.trim()))
}

/// The versions installed at a usual place, the newest first.
fn installed((parent, begins, within): &(&str, &str, &str)) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut names: Vec<OsString> = entries
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with(begins))
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(version(&name.to_string_lossy())));
    names
        .iter()
        .map(|name| Path::new(parent).join(name).join(within))
        .collect()
}

/// The numbers in a directory's name: `postgresql@9.6` is older than `postgresql@17`.
fn version(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_by_number() {
        let mut names = ["postgresql@9.6", "postgresql", "postgresql@17", "pgsql-10"];
        names.sort_by_key(|name| version(name));
        assert_eq!(
            names,
            ["postgresql", "postgresql@9.6", "pgsql-10", "postgresql@17"]
        );
    }
}
