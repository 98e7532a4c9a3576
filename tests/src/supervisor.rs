//! Ends a server with the process that started it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::account::Account;

/// Reads until the end of a pipe that only the supervised process holds, however that process
/// ends; then stops the server and removes its directory. A server that was only starting at that
/// moment ends by itself when it misses its directory.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
"$1" -D "$2/data" -m immediate -t 20 stop >/dev/null 2>&1
rm -rf "$2" || { sleep 1; rm -rf "$2"; }
"#;

/// A shell that outlives this process by the moment it takes to clean up.
#[derive(Debug)]
pub(crate) struct Supervisor(Child);

impl Supervisor {
    /// Watches over the server in `directory`, which the user `account` owns.
    pub(crate) fn start(pg_ctl: &Path, directory: &Path, account: Option<Account>) -> Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "outbox-supervisor"])
            .args([pg_ctl, directory])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Of its own group, so that Ctrl-C reaches the tests only.
            .process_group(0);
        if let Some(account) = account {
            account.apply(&mut command);
        }
        let child = command
            .spawn()
            .context("starting the server's supervisor")?;
        Ok(Self(child))
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // An error leaves a process to be reaped, which is init's.
        let _ = self.0.wait();
    }
}
