//! A server that does not answer, or does not yet, or does not want us.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use outbox::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use outbox::{OutboxEvent, StartError};
use outbox_tests::{Database, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::{emit, sent};

#[derive(OutboxEvent)]
#[outbox(event = "unreachable.happened")]
struct Happened {}

#[outbox::handler(name = "unreachable")]
async fn handle(_event: Happened) {}

/// The error's text and those of its sources.
fn chain(error: &StartError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

async fn refused(options: PgConnectOptions, timeout: Duration) -> String {
    let pool = PgPoolOptions::new().connect_lazy_with(options);
    let begin = Instant::now();
    let start = outbox::start(pool)
        .only(["unreachable"])
        .connect_timeout(timeout);
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Unreachable(_)), "{error:?}");
    // An error and not a hang: far from the default and from what a statement may take.
    assert!(begin.elapsed() < Duration::from_secs(20));
    chain(&error)
}

fn options(port: u16) -> PgConnectOptions {
    PgConnectOptions::new()
        .host("127.0.0.1")
        .port(port)
        .username("postgres")
        .database("postgres")
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_told_by_its_reason() {
    let text = refused(options(1), Duration::from_millis(300)).await;
    assert!(
        text.starts_with("the outbox can't start: the database can't be reached; is it running"),
        "{text}"
    );
    assert!(text.contains("refused"), "{text}");
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_an_error_after_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            open.push(connection);
        }
    });
    refused(options(port), Duration::from_millis(300)).await;
}

#[tokio::test]
async fn a_server_that_falls_silent_after_the_handshake_is_an_error_after_connect_timeout() {
    let proxy = Proxy::before(Server::shared(), Greeting::Silence).await;
    refused(options(proxy.port), Duration::from_millis(500)).await;
}

#[tokio::test]
async fn a_role_that_may_not_log_in_is_refused_at_once() {
    let database = Database::new().await;
    let proxy = Proxy::before(Server::shared(), Greeting::Pass).await;
    for (options, reason) in [
        (
            database.connect_options().username("nobody_of_this_name"),
            "role \"nobody_of_this_name\" does not exist",
        ),
        (
            database.connect_options().database("nothing_of_this_name"),
            "database \"nothing_of_this_name\" does not exist",
        ),
    ] {
        let text = refused(options.port(proxy.port), Duration::from_hours(1)).await;
        assert!(text.contains(reason), "{text}");
    }
    // One connection for each start: no storm of what would be refused again.
    assert_eq!(proxy.connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_server_that_is_starting_up_is_waited_for() {
    let database = Database::new().await;
    let proxy = Proxy::before(Server::shared(), Greeting::StartingUp(3)).await;
    let pool = PgPoolOptions::new().connect_lazy_with(database.connect_options().port(proxy.port));
    let outbox = outbox::start(pool).only(["unreachable"]).await.unwrap();
    assert!(proxy.connections.load(Ordering::Relaxed) > 3);
    emit(&database.pool(), &Happened {}).await;
    sent(&database, 1).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_server_that_comes_back_within_connect_timeout_is_waited_for() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    server.stop().await;
    let starting = tokio::spawn(
        outbox::start(database.pool())
            .only(["unreachable"])
            .into_future(),
    );
    server.start().await;
    let outbox = starting.await.unwrap().unwrap();
    outbox.shutdown().await.unwrap();
}

/// What happens to a connection before it may reach the server.
#[derive(Clone, Copy)]
enum Greeting {
    Pass,
    /// So many connections are told that the server is starting up.
    StartingUp(usize),
    /// What the client says after its first message is swallowed.
    Silence,
}

struct Proxy {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    async fn before(server: &Server, greeting: Greeting) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
        };
        let (connections, to) = (Arc::clone(&proxy.connections), server.port());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(pass(client, to, greeting, number));
            }
        });
        proxy
    }
}

async fn pass(
    mut client: TcpStream,
    to: u16,
    greeting: Greeting,
    number: usize,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await?;
    match greeting {
        Greeting::StartingUp(times) if number < times => {
            let mut message = [0; 1024];
            // A request for TLS is declined; then comes the real first message.
            while client.read(&mut message).await? == 8 {
                client.write_all(b"N").await?;
            }
            let fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
            let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
            client
                .write_all(&[b"E", &length[..], fields].concat())
                .await
        }
        Greeting::Silence => {
            let (mut reader, mut writer) = client.split();
            let (mut answers, mut questions) = server.split();
            let talk = tokio::io::copy(&mut answers, &mut writer);
            let listen = async {
                let mut message = [0; 1024];
                loop {
                    let length = reader.read(&mut message).await?;
                    questions.write_all(&message[..length]).await?;
                    if length != 8 {
                        // The first message went through; the rest is swallowed.
                        while reader.read(&mut message).await? > 0 {}
                        return std::io::Result::Ok(());
                    }
                }
            };
            tokio::try_join!(talk, listen).map(|_| ())
        }
        _ => copy_bidirectional(&mut client, &mut server)
            .await
            .map(|_| ()),
    }
}
