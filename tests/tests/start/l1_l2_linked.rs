//! Which handlers a binary links is known only when it starts.

use outbox_tests::{Database, Worker};
use std::process::Command;

async fn refused(program: &str, database: &Database) -> String {
    let mut worker = Worker::spawn_command(
        Command::new(program)
            .arg("run")
            .env("DATABASE_URL", database.url())
            .stderr(std::process::Stdio::null()),
    );
    let text = worker.line("refused ").await;
    assert!(!worker.ended().await.success());
    text
}

#[tokio::test]
async fn l1_no_handler_linked_says_why_and_the_mend() {
    let database = Database::new().await;
    let text = refused(env!("CARGO_BIN_EXE_links-nothing"), &database).await;
    assert_eq!(
        text,
        "the outbox can't start: - no handler is linked: annotate a function with `#[outbox::handler]`; \
         if there are some in a crate that the binary never mentions, the linker has dropped them: \
         write `use that_crate as _;` in the binary"
    );
}

#[tokio::test]
async fn l2_names_and_aliases_that_clash_are_told_with_both_places() {
    let database = Database::new().await;
    let text = refused(env!("CARGO_BIN_EXE_links-duplicates"), &database).await;
    let source = include_str!("../../src/bin/links-duplicates.rs");
    let place = |function: &str| {
        let line = source.lines().position(|line| line.contains(function));
        // Where the function stands, or the attribute just above it.
        let line = line.unwrap() + 1;
        [line, line - 1].map(|line| format!("tests/src/bin/links-duplicates.rs:{line}"))
    };
    let [one, two] = text
        .split(" - two handlers are named ")
        .skip(1)
        .collect::<Vec<_>>()[..]
    else {
        panic!("{text}");
    };
    for (problem, name, first, second) in [
        (one, "`ship`", "ship_by_road", "ship_by_sea"),
        (two, "`ship_later`", "fn ship_later", "ship_by_rail"),
    ] {
        assert!(problem.starts_with(name), "{problem}");
        for function in [first, second] {
            let named = place(function).iter().any(|place| problem.contains(place));
            assert!(named, "{function}: {problem}");
        }
        assert!(
            problem.contains("give one of them another `name = \"…\"` or drop the alias"),
            "{problem}"
        );
    }
}
