//! The commands that the README gives are those that CI runs.

use crate::{read, root};

#[test]
fn every_command_of_the_readme_is_run_by_ci() {
    let readme = read(&root("README.md"));
    let ci = read(&root(".ci/run"));
    let commands: Vec<&str> = readme
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "```sh")
        .skip(1)
        .take_while(|line| *line != "```")
        .map(|line| line.split('#').next().unwrap_or(line).trim())
        .filter(|line| line.starts_with("cargo"))
        .collect();
    assert_eq!(
        commands.len(),
        2,
        "the README has two commands: {commands:?}"
    );
    for command in commands {
        assert!(ci.contains(command), "`.ci/run` runs `{command}`");
    }
}
