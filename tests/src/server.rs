//! A PostgreSQL server that lives as long as the process, in a directory of its own.

use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::account::Account;
use crate::log::{Log, LogMark, PREFIX};
use crate::programs::Programs;
use crate::supervisor::Supervisor;

/// Nothing here has to survive the machine, everything has to be fast.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 200
fsync = off
synchronous_commit = off
full_page_writes = off
logging_collector = off
log_destination = 'stderr'
";

/// Below the ports that systems give to outgoing connections, so that none of those takes the
/// server's port while a test has it stopped.
const PORTS: std::ops::Range<u32> = 20_000..32_000;

/// A PostgreSQL server on a free port of 127.0.0.1, of this process alone: it ends, and its
/// directory goes, with the value or with the process, also when that is killed.
///
/// Superuser `postgres`, without a password. Made of the programs that are installed; the
/// environment variable `OUTBOX_PG_BIN` names the directory of others.
#[derive(Debug)]
pub struct Server {
    directory: PathBuf,
    programs: Programs,
    account: Option<Account>,
    port: u16,
    pub(crate) log: Log,
    pub(crate) template: OnceCell<()>,
    pub(crate) databases: AtomicU32,
    _supervisor: Supervisor,
}

impl Server {
    /// The server that the tests of this process share; the first to ask starts it.
    ///
    /// A test that stops the server, or changes what concerns all its databases, takes one of its
    /// own by [`launch`](Self::launch).
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Self::launch().unwrap_or_else(|error| panic!("{error:#}")))
    }

    /// Starts a new server. Takes a second or two and blocks the thread meanwhile.
    ///
    /// # Errors
    ///
    /// When there is no PostgreSQL (the text says how to get one) or it does not start.
    pub fn launch() -> Result<Self> {
        let programs = Programs::find()?;
        let account = Account::for_server()?;
        let directory = std::env::temp_dir().join(format!("outbox-{}", short_id()));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .with_context(|| format!("creating {}", directory.display()))?;
        if let Some(account) = account {
            account.own(&directory)?;
        }
        let supervisor = Supervisor::start(&programs.path("pg_ctl"), &directory, account)?;
        let mut server = Self {
            log: Log(directory.join("log")),
            directory,
            programs,
            account,
            port: 0,
            template: OnceCell::new(),
            databases: AtomicU32::new(0),
            _supervisor: supervisor,
        };
        server.initialize()?;
        server.start_on_a_free_port()?;
        Ok(server)
    }

    /// The URL of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The TCP port, the same for the server's whole life.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path of one of PostgreSQL's programs, such as `psql`.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.path(name)
    }

    /// Stops the server as a crash would: connections break, nothing is written down.
    pub async fn stop(&self) {
        run_off_thread(self.pg_ctl(&["-m", "immediate", "stop"])).await;
    }

    /// Starts the server again, on the same port, and waits until it answers.
    pub async fn start(&self) {
        run_off_thread(self.pg_ctl_start()).await;
    }

    /// [`stop`](Self::stop) and [`start`](Self::start).
    pub async fn restart(&self) {
        self.stop().await;
        self.start().await;
    }

    /// The process id of the postmaster, while the server runs.
    #[must_use]
    pub fn postmaster_pid(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        file.lines().next()?.parse().ok()
    }

    /// The end of the log as it is now.
    #[must_use]
    pub fn log_mark(&self) -> LogMark {
        self.log.mark()
    }

    /// What the server logged since `mark`.
    #[must_use]
    pub fn log_since(&self, mark: LogMark) -> String {
        self.log.since(mark)
    }

    /// Where the server keeps everything; gone when the server is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn initialize(&self) -> Result<()> {
        let mut initdb = self.command("initdb");
        initdb
            .args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", &format!("--locale={}", locale())])
            .arg("--pgdata")
            .arg(self.data());
        run(&mut initdb).context("creating the throwaway PostgreSQL")?;
        let settings = format!(
            "{SETTINGS}log_line_prefix = '{PREFIX}'\nunix_socket_directories = '{}'\n",
            self.directory.display()
        );
        // Later lines win over those that initdb wrote.
        let path = self.data().join("postgresql.conf");
        let written = std::fs::read_to_string(&path)?;
        std::fs::write(&path, written + &settings)?;
        Ok(())
    }

    /// Tries ports until one is free: another process may take one between the look and the start.
    fn start_on_a_free_port(&mut self) -> Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Processes that start together begin far apart.
        let begin = std::process::id().wrapping_mul(61);
        for _ in 0..1_000 {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            let port = PORTS.start + begin.wrapping_add(step) % (PORTS.end - PORTS.start);
            self.port = u16::try_from(port)?;
            if TcpListener::bind(("127.0.0.1", self.port)).is_err() {
                continue;
            }
            let Err(error) = run(&mut self.pg_ctl_start()) else {
                return Ok(());
            };
            let log = std::fs::read_to_string(&self.log.0).unwrap_or_default();
            if !log.contains("in use") {
                return Err(error
                    .context(log)
                    .context("starting the throwaway PostgreSQL"));
            }
            // The next attempt is judged by its own log.
            std::fs::remove_file(&self.log.0)?;
        }
        bail!("no free port on 127.0.0.1 in {PORTS:?}")
    }

    fn pg_ctl_start(&self) -> Command {
        let mut command = self.pg_ctl(&["-t", "60", "-o", &format!("-p {}", self.port)]);
        command.arg("-l").arg(&self.log.0).arg("start");
        command
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg("-w").arg("-D").arg(self.data()).args(arguments);
        command
    }

    /// One of PostgreSQL's programs as the server's user, untouched by the caller's surroundings.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.path(program));
        command
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(account) = self.account {
            account.apply(&mut command);
        }
        command
    }
}

/// UTF-8 without a language; macOS has it under no name.
fn locale() -> &'static str {
    if cfg!(target_os = "macos") {
        "C"
    } else {
        "C.UTF-8"
    }
}

/// The random end of a UUID, short enough for the path of a socket.
fn short_id() -> String {
    Uuid::now_v7().simple().to_string().split_off(20)
}

fn run(command: &mut Command) -> Result<()> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .with_context(|| format!("running {}", command.get_program().display()))?;
    if !status.success() {
        bail!(
            "{} ended with {status}\n{}{}",
            command.get_program().display(),
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        );
    }
    Ok(())
}

/// Runs `command` while the test's runtime goes on.
async fn run_off_thread(mut command: Command) {
    tokio::task::spawn_blocking(move || run(&mut command))
        .await
        .expect("`run` does not panic")
        .unwrap_or_else(|error| panic!("{error:#}"));
}
