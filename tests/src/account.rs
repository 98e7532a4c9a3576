//! The user that PostgreSQL runs as.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A user to run PostgreSQL as, because it refuses to run as root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Another user for root, nobody else for everybody else.
    pub(crate) fn for_server() -> Result<Option<Self>> {
        if id(&["-u"])? != 0 {
            return Ok(None);
        }
        for name in ["postgres", "nobody"] {
            if let (Ok(uid), Ok(gid)) = (id(&["-u", name]), id(&["-g", name])) {
                return Ok(Some(Self { uid, gid }));
            }
        }
        bail!(
            "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`"
        )
    }

    /// Makes `command` run as this user.
    pub(crate) fn apply(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives `path` to this user.
    pub(crate) fn own(self, path: &Path) -> Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("giving {} to the server's user", path.display()))
    }
}

fn id(arguments: &[&str]) -> Result<u32> {
    let output = Command::new("id")
        .args(arguments)
        .output()
        .context("running `id`")?;
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .with_context(|| format!("reading the output of `id {}`", arguments.join(" ")))
}
