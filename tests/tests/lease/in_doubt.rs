//! A settle whose reply was lost: the row says what became of it.

use std::sync::Arc;
use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, Logged, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::{Stage, all_sent, emit, lease, only};

#[derive(OutboxEvent)]
#[outbox(event = "in_doubt.told")]
struct Told {}

#[outbox::handler(event = "in_doubt.told", name = "in_doubt")]
async fn told(_: Told, State(stage): State<Stage>, State(line): State<Line>) {
    stage.begin();
    line.set(Direction::Deaf);
}

/// What a line to the server lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// All.
    Both,
    /// All but the reply to a settle, and what follows it.
    Deaf,
    /// Nothing: what is connected breaks.
    None,
}

/// A line to the server that can be cut.
#[derive(Debug, Clone)]
struct Line {
    direction: Arc<watch::Sender<Direction>>,
    port: u16,
}

impl Line {
    /// A line to the server's `port`.
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let line = Self {
            direction: Arc::new(watch::Sender::new(Direction::Both)),
            port: listener.local_addr().unwrap().port(),
        };
        let direction = line.direction.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(carry(client, server, direction.subscribe()));
            }
        });
        line
    }

    fn set(&self, direction: Direction) {
        self.direction.send_replace(direction);
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    direction: watch::Receiver<Direction>,
) {
    let (mut request, mut reply) = ([0; 8192], [0; 8192]);
    let mut cut = direction.clone();
    let (mut settles, mut deaf) = (false, false);
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
                deaf |= settles && request[0] == b'B' && *direction.borrow() == Direction::Deaf;
                settles |= String::from_utf8_lossy(request).contains("-- Writes the results");
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

async fn start(database: &Database, line: &Line, stage: &Stage) -> outbox::Outbox {
    emit(database, &[Told {}]).await;
    let options = database.connect_options().port(line.port);
    outbox::start(sqlx::PgPool::connect_lazy_with(options))
        .only(["in_doubt"])
        .listen(false)
        .lease(lease(60_000))
        .state(stage.clone())
        .state(line.clone())
        .await
        .unwrap()
}

#[tokio::test]
async fn stored_though_its_reply_was_lost_is_told_as_unknown_and_left_alone() {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    let line = Line::to(outbox_tests::Server::shared().port()).await;
    let outbox = start(&database, &line, &stage).await;
    let [sent] = all_sent(&database).await.try_into().unwrap();
    line.set(Direction::None);
    eventually("the settle has failed", async || {
        !logged.with("settling failed").is_empty()
    })
    .await;
    line.set(Direction::Both);
    eventually("what is not known is told", async || {
        let told = logged.with("whether this attempt's result was stored is unknown");
        let told = told
            .iter()
            .any(|entry| entry.contains(&sent.id.to_string()));
        if told { Ok(()) } else { Err(logged.with("")) }
    })
    .await;
    outbox.shutdown().await.unwrap();
    assert_eq!(only(&database).await, sent);
    assert_eq!(stage.begun(), 1);
    assert_eq!(logged.with("lost claim").len(), 0);
}

#[tokio::test]
async fn not_stored_and_still_ones_own_is_settled_again() {
    let database = Database::new().await;
    let stage = Stage::new();
    // Ends the settle's own connection, twice: a sequence counts also what is rolled back.
    sqlx::raw_sql(
        "CREATE SEQUENCE settles;
         CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF nextval('settles') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
           RETURN NEW;
         END $$;
         CREATE TRIGGER cut BEFORE UPDATE ON outbox_events FOR EACH ROW
           WHEN (NEW.status = 'SENT') EXECUTE FUNCTION cut()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let line = Line {
        direction: Arc::new(watch::Sender::new(Direction::Both)),
        port: outbox_tests::Server::shared().port(),
    };
    emit(&database, &[Told {}]).await;
    let before = only(&database).await;
    let outbox = outbox::start(database.pool())
        .only(["in_doubt"])
        .poll_interval(Duration::from_secs(300))
        .state(stage.clone())
        .state(line)
        .await
        .unwrap();
    let [sent] = all_sent(&database).await.try_into().unwrap();
    let expected = OutboxRecord {
        status: Status::Sent,
        updated_at: sent.updated_at,
        processed_at: Some(sent.updated_at),
        ..before
    };
    assert_eq!(sent, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!(stage.begun(), 1);
}

#[tokio::test]
async fn not_stored_and_another_ones_by_now_is_lost() {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    // The settle fails, and when it is judged another runtime has the row.
    sqlx::raw_sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events FOR EACH ROW
           WHEN (NEW.status = 'SENT') EXECUTE FUNCTION refuse()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let line = Line::to(outbox_tests::Server::shared().port()).await;
    let outbox = start(&database, &line, &stage).await;
    stage.begins(1).await;
    line.set(Direction::None);
    crate::change(
        &database,
        "claim_token = gen_random_uuid(), claimed_by = 'another'",
    )
    .await;
    let taken = only(&database).await;
    line.set(Direction::Both);
    eventually("the loss is told", async || {
        let told = logged.with("lost claim");
        let told = told
            .iter()
            .any(|entry| entry.contains(&taken.id.to_string()));
        if told { Ok(()) } else { Err(logged.with("")) }
    })
    .await;
    outbox.shutdown().await.unwrap();
    assert_eq!(only(&database).await, taken);
}
