//! A line to the server that a test can cut.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What a line lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// All.
    Both,
    /// All but the reply to the statement, and what follows it.
    Deaf,
    /// Nothing: what is connected breaks.
    None,
}

/// A line to the server that can be cut.
#[derive(Debug, Clone)]
pub struct Line {
    direction: Arc<watch::Sender<Direction>>,
    port: u16,
}

impl Line {
    /// A port as it is, that nothing cuts.
    #[must_use]
    pub fn open(port: u16) -> Self {
        Self {
            direction: Arc::new(watch::Sender::new(Direction::Both)),
            port,
        }
    }

    /// A line to the server's `port`, which can lose the replies to the statement whose text
    /// contains `statement`.
    pub async fn to(port: u16, statement: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("the line stands");
        let line = Self::open(listener.local_addr().expect("the line stands").port());
        let direction = line.direction.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.expect("the line stands");
                let server = TcpStream::connect(("127.0.0.1", port))
                    .await
                    .expect("the line stands");
                tokio::spawn(carry(client, server, direction.subscribe(), statement));
            }
        });
        line
    }

    /// Where to connect.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on the statement reaches the server, but its reply never comes back.
    pub fn lose_replies(&self) {
        self.set(Direction::Deaf);
    }

    /// Breaks what is connected.
    pub fn cut(&self) {
        self.set(Direction::None);
    }

    /// Lets everything through again.
    pub fn mend(&self) {
        self.set(Direction::Both);
    }

    fn set(&self, direction: Direction) {
        self.direction.send_replace(direction);
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    direction: watch::Receiver<Direction>,
    statement: &str,
) {
    let (mut request, mut reply) = ([0; 8192], [0; 8192]);
    let mut cut = direction.clone();
    let (mut asked, mut deaf) = (false, false);
    loop {
        let read = tokio::select! {
            () = async { drop(cut.wait_for(|to| *to == Direction::None).await) } => return,
            read = client.read(&mut request) => read.map(|bytes| (true, bytes)),
            read = server.read(&mut reply) => read.map(|bytes| (false, bytes)),
        };
        let carried = match read {
            Err(_) | Ok((_, 0)) => return,
            Ok((true, bytes)) => {
                let request = &request[..bytes];
                // Its text comes first, to be prepared; its arguments come with a Bind.
                deaf |= asked && request[0] == b'B' && *direction.borrow() == Direction::Deaf;
                asked |= String::from_utf8_lossy(request).contains(statement);
                server.write_all(request).await
            }
            Ok((false, _)) if deaf => Ok(()),
            Ok((false, bytes)) => client.write_all(&reply[..bytes]).await,
        };
        if carried.is_err() {
            return;
        }
    }
}
