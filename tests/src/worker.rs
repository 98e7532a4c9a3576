//! Another process: for tests of what survives its death.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::eventually::eventually;

/// A running process that reports on its standard output, line by line; killed with the value.
///
/// The program is one of `src/bin`, which an integration test names by
/// `env!("CARGO_BIN_EXE_<name>")`.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Worker {
    /// Starts `program` with the environment variable `DATABASE_URL`.
    #[must_use]
    pub fn spawn(program: &str, database_url: &str) -> Self {
        Self::spawn_command(Command::new(program).env("DATABASE_URL", database_url))
    }

    /// Starts a command with arguments or an environment of its own.
    #[must_use]
    pub fn spawn_command(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("starting {command:?}: {error}"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        if let Some(stdout) = child.stdout.take() {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    lines
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(line);
                }
            });
        }
        Self { child, lines }
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The lines that it has written up to now.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for a line that begins with `prefix`, and returns the rest of it.
    pub async fn line(&self, prefix: &str) -> String {
        eventually(format!("the process writes `{prefix}…`"), async || {
            let lines = self.lines();
            let found = lines.iter().find_map(|line| line.strip_prefix(prefix));
            found.map(str::to_owned).ok_or(lines)
        })
        .await
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill -TERM");
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait();
        ended.expect("a child can be waited for").is_some()
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        eventually("the process ends", async || {
            self.child.try_wait().expect("a child can be waited for")
        })
        .await
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
