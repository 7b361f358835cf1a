//! The workspace as text: its Rust files with and without comments, its manifests.
//!
//! `../tidy.rs` says what must be true of it. Deliberately not a parser: a rule that needs one is not worth it here.

use std::fs;
use std::path::{Path, PathBuf};

/// One file.
pub(super) struct Source {
    /// From the root of the workspace, with slashes: `crates/domain/src/lib.rs`.
    pub(super) path: String,
    /// All of it.
    pub(super) text: String,
}

impl Source {
    /// The lines that are no comments, with their numbers.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().enumerate();
        numbered.filter_map(|(index, line)| {
            let code = line.split(" // ").next().unwrap_or(line);
            (!line.trim_start().starts_with("//")).then_some((index + 1, code))
        })
    }

    /// The part before the tests that stand beside the code.
    pub(super) fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code()
            .take_while(|(_, line)| !line.contains("#[cfg(test)]"))
    }
}

/// The folder with the workspace's Cargo.toml.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of one file of the workspace.
pub(super) fn read(path: &str) -> String {
    match fs::read_to_string(root().join(path)) {
        Ok(text) => text,
        Err(error) => panic!("reading {path}: {error}"),
    }
}

/// Every Rust file under one of these folders, in the order of their paths.
pub(super) fn rust(folders: &[&str]) -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in folders {
        collect(folder, ".rs", &mut sources);
    }
    // A rule over no files would hold for ever.
    assert!(!sources.is_empty(), "no Rust files in {folders:?}");
    sources
}

/// Every manifest of the workspace but the root's.
pub(super) fn manifests() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in ["crates", "provider", "cli", "acceptance"] {
        collect(folder, "Cargo.toml", &mut sources);
    }
    assert!(sources.len() >= 6, "manifests are missing");
    sources
}

fn collect(path: &str, ending: &str, sources: &mut Vec<Source>) {
    let entries = match fs::read_dir(root().join(path)) {
        Ok(entries) => entries,
        Err(error) => panic!("listing {path}: {error}"),
    };
    let mut names: Vec<(String, bool)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, entry.file_type().ok()?.is_dir()))
        })
        .collect();
    names.sort();
    for (name, is_folder) in names {
        let path = format!("{path}/{name}");
        if is_folder && name != "target" {
            collect(&path, ending, sources);
        } else if !is_folder && path.ends_with(ending) {
            let text = read(&path);
            sources.push(Source { path, text });
        }
    }
}

/// Whether a line has this word, or this path of words, and not only as a part of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let part_of_a_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, found)| {
        let before = line[..start].chars().next_back();
        let behind = line[start + found.len()..].chars().next();
        !before.is_some_and(part_of_a_word) && !behind.is_some_and(part_of_a_word)
    })
}

/// The names in the tables `[dependencies]` and, if asked for, the others that end in "dependencies]".
pub(super) fn dependencies(manifest: &str, also_for_tests: bool) -> Vec<&str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside =
                line == "[dependencies]" || (also_for_tests && line.ends_with("dependencies]"));
        } else if inside
            && let Some((name, _)) = line.split_once(['.', ' ', '='])
            && !line.starts_with('#')
        {
            names.push(name);
        }
    }
    names
}
