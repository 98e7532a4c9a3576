//! The modules of the runtime crate form layers: no module reaches itself by its imports. A pure
//! look at the text: `crate::…` paths outside comments and unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{read, root};

/// Each module, by its path below `crate::`, with the modules that it names.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_module_reaches_itself() {
    let mut sources = BTreeMap::new();
    collect(&root("outbox/src"), "", &mut sources);
    assert!(sources.len() > 5, "the sources are found");
    let imports = imports(&sources);
    if let Some(cycle) = cycle(&imports) {
        panic!("modules import each other: {}", cycle.join(" → "));
    }
}

/// The files below `directory` by module path. The crate's root and `private`, which only export,
/// are no layers.
fn collect(directory: &Path, within: &str, sources: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = if within.is_empty() {
            name
        } else {
            format!("{within}::{name}")
        };
        if path.is_dir() {
            collect(&path, &module, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["lib", "private"].contains(&module.as_str())
        {
            sources.insert(module, read(&path));
        }
    }
}

fn imports(sources: &BTreeMap<String, String>) -> Imports {
    sources
        .iter()
        .map(|(module, source)| (module.clone(), imported(module, source, sources)))
        .collect()
}

/// The modules that `source` names by `crate::…`, also in braces after it.
fn imported(module: &str, source: &str, all: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code: String = source
        .split("#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim(), " "])
        .collect();
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        for path in expand(path) {
            // The longest beginning of the path that is a module; the rest is an item of it.
            let known = (1..=path.len())
                .rev()
                .map(|length| path[..length].join("::"))
                .find(|path| all.contains_key(path));
            // A module may name items of its own file by their full paths.
            found.extend(known.filter(|known| known != module));
        }
    }
    found
}

/// The paths at the beginning of `text`: one, or those in braces, one level deep.
fn expand(text: &str) -> Vec<Vec<&str>> {
    let Some(braced) = text.strip_prefix('{') else {
        return vec![segments(text)];
    };
    let end = braced.find("};").unwrap_or(braced.len());
    braced[..end]
        .split(',')
        .map(str::trim)
        .map(segments)
        .collect()
}

fn segments(text: &str) -> Vec<&str> {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len());
    text[..end]
        .split("::")
        .filter(|part| !part.is_empty())
        .collect()
}

/// Modules that import each other in a ring, the first again at the end.
fn cycle(imports: &Imports) -> Option<Vec<String>> {
    /// Walks on from the last module of `path`; what is `done` leads into no ring.
    fn walk(path: &mut Vec<String>, imports: &Imports, done: &mut BTreeSet<String>) -> bool {
        let module = path[path.len() - 1].clone();
        for next in imports.get(&module).into_iter().flatten() {
            if let Some(begin) = path.iter().position(|module| module == next) {
                path.drain(..begin);
                path.push(next.clone());
                return true;
            }
            if !done.contains(next) {
                path.push(next.clone());
                if walk(path, imports, done) {
                    return true;
                }
                path.pop();
            }
        }
        done.insert(module);
        false
    }

    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| {
        let mut path = vec![module.clone()];
        (!done.contains(module) && walk(&mut path, imports, &mut done)).then_some(path)
    })
}

#[test]
fn a_ring_is_found_through_braces_and_lines() {
    let sources = [
        ("a", "use crate::b::{Item, other};"),
        (
            "b",
            "use crate::{\n    // not crate::d\n    c::Item,\n    d,\n};",
        ),
        ("c", "fn f() { crate::a::Item::new() }"),
        ("d", "#[cfg(test)]\nmod tests { use crate::a; }"),
    ];
    let sources = sources.map(|(module, source)| (module.to_owned(), source.to_owned()));
    let imports = imports(&BTreeMap::from(sources));
    assert_eq!(imports["b"], ["c", "d"].map(str::to_owned).into());
    assert!(imports["d"].is_empty());
    assert_eq!(
        cycle(&imports),
        Some(["a", "b", "c", "a"].map(str::to_owned).into())
    );
}
