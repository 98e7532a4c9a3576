//! The server's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// A place in the server's log: `Server::log_since` returns what came after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogMark(u64);

/// The log as a file. Every entry begins with its database's name in brackets.
#[derive(Debug, Clone)]
pub(crate) struct Log(pub(crate) PathBuf);

/// What `log_line_prefix` has to be.
pub(crate) const PREFIX: &str = "[%d] %m %p ";

impl Log {
    pub(crate) fn mark(&self) -> LogMark {
        let length = std::fs::metadata(&self.0).map(|file| file.len());
        LogMark(length.expect("the server's log is there"))
    }

    pub(crate) fn since(&self, mark: LogMark) -> String {
        let mut bytes = Vec::new();
        let mut file = File::open(&self.0).expect("the server's log is there");
        file.seek(SeekFrom::Start(mark.0))
            .and_then(|_| file.read_to_end(&mut bytes))
            .expect("the server's log can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The entries of one database, each with its further lines, which begin with a tab.
    pub(crate) fn entries_since(&self, mark: LogMark, database: &str) -> Vec<String> {
        entries(&self.since(mark), database)
    }
}

fn entries(log: &str, database: &str) -> Vec<String> {
    let prefix = format!("[{database}] ");
    let mut entries: Vec<String> = Vec::new();
    let mut ours = false;
    for line in log.lines() {
        if let Some(further) = line.strip_prefix('\t') {
            if let (true, Some(last)) = (ours, entries.last_mut()) {
                last.push('\n');
                last.push_str(further);
            }
        } else {
            ours = line.starts_with(&prefix);
            if ours {
                entries.push(line.to_owned());
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_the_database_whole() {
        let log = "[a] LOG:  one\n\tand more\n[b] LOG:  two\n\tnot this\n[a] LOG:  three\n";
        assert_eq!(
            entries(log, "a"),
            ["[a] LOG:  one\nand more", "[a] LOG:  three"]
        );
    }
}
