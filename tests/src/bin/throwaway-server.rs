//! Starts a server, says where it is, and waits to be killed.

#![allow(clippy::print_stdout, reason = "the test reads it")]

use outbox_tests::Server;

fn main() -> anyhow::Result<()> {
    let server = Server::launch()?;
    println!("pid {}", server.postmaster_pid().unwrap_or_default());
    println!("directory {}", server.directory().display());
    loop {
        std::thread::park();
    }
}
