//! Every scenario of `tests/README.md` has a test, or says what it waits for.

use std::collections::BTreeSet;

use crate::{read, root};

/// The scenarios' letters. One that is not in the table is a hole nobody would see.
const LETTERS: &str = "A2 A4 A8 A10 A11 A12 B1 B2 B3 B4 B6 B7 B8 B9 B10 B13 B15 B16 B17 \
    C1 C3 C5 C6 C8 C9 D1 D3 D5 E1 E2 E3 E5 E6 E7 E8 E10 E11 E12 E13 F1 F3 G1 G2 G3 G4 G6 G7 \
    H1 H2 H4 H6 H7 H8 H9 H10 H11 I1 I2 I4 I8 J0 J1 J2 J3 J4 K1 K2 K4 L1 L2 L5 L7 L10 L11 L12 \
    L13 L14";

/// A row of the table: `| letter | scenario | covered by |`.
struct Scenario {
    letter: String,
    covered_by: String,
}

fn scenarios() -> Vec<Scenario> {
    read(&root("tests/README.md"))
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let (letter, _, covered_by) = (cells.next()?, cells.next()?, cells.next()?);
            let is_letter = letter.starts_with(|c: char| c.is_ascii_uppercase())
                && letter.ends_with(|c: char| c.is_ascii_digit());
            is_letter.then(|| Scenario {
                letter: letter.to_owned(),
                covered_by: covered_by.to_owned(),
            })
        })
        .collect()
}

#[test]
fn every_letter_is_in_the_table_once() {
    let mut seen = BTreeSet::new();
    for Scenario { letter, .. } in scenarios() {
        assert!(seen.insert(letter.clone()), "{letter} has two rows");
    }
    let expected: BTreeSet<String> = LETTERS.split_whitespace().map(str::to_owned).collect();
    assert_eq!(seen, expected);
}

#[test]
fn every_scenario_is_covered_or_open() {
    let faults: Vec<String> = scenarios()
        .iter()
        .filter_map(|scenario| {
            let why = fault(&scenario.covered_by)?;
            Some(format!("{}: {why}", scenario.letter))
        })
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What is wrong with a last cell. It has to be tests divided by `, `, each in backticks, a path
/// from the workspace's root with `::name` when it is a function; or `open: topic` for what is not
/// tested yet; or both.
fn fault(covered_by: &str) -> Option<String> {
    covered_by.split(", ").find_map(|test| {
        if let Some(topic) = test.strip_prefix("open:") {
            let empty = topic.trim().is_empty();
            return empty.then(|| "open for no reason".to_owned());
        }
        let Some(test) = test
            .strip_prefix('`')
            .and_then(|test| test.strip_suffix('`'))
        else {
            return Some(format!(
                "neither `open: …` nor a test in backticks: {test:?}"
            ));
        };
        let (path, function) = match test.split_once("::") {
            Some((path, function)) => (path, Some(function)),
            None => (test, None),
        };
        let file = root(path);
        if !file.is_file() {
            return Some(format!("no file {path}"));
        }
        match function {
            Some(function) if !read(&file).contains(&format!("fn {function}(")) => {
                Some(format!("no function {function} in {path}"))
            }
            None if file.extension().is_some_and(|extension| extension == "rs")
                && !path.starts_with("trybuild/") =>
            {
                Some(format!("name the function: {path}::…"))
            }
            _ => None,
        }
    })
}

#[test]
fn faults_of_a_cell_are_seen() {
    for good in [
        "open: fault injection",
        "`tests/tests/docs/main.rs::root`, open: the rest",
        "`tests/tests/docs/scenarios_have_tests.rs::faults_of_a_cell_are_seen`",
        "`tests/README.md`, `tests/tests/docs/main.rs::root`",
    ] {
        assert_eq!(fault(good), None, "{good}");
    }
    for bad in [
        "",
        "open:",
        "later",
        "`tests/tests/docs/gone.rs::gone`",
        "`tests/tests/docs/main.rs`",
        "`tests/tests/docs/main.rs::gone`",
        "`tests/README.md`, `gone`",
    ] {
        assert!(fault(bad).is_some(), "{bad}");
    }
}
