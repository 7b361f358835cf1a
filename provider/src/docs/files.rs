//! The texts in `docs` and `examples`: read once, compared, and rewritten when asked to.
//!
//! Before: `docs.rs` has made the pages. Nothing else touches the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{KINDS, guide};

/// Texts by their path from the root of the repository.
#[derive(Debug, Default)]
pub(super) struct Files(BTreeMap<String, String>);

impl Files {
    /// Everything in `docs` and `examples`.
    pub(super) fn read() -> Files {
        let mut files = BTreeMap::new();
        for folder in ["docs", "examples"] {
            collect(folder, &mut files);
        }
        Files(files)
    }

    /// These and nothing else.
    pub(super) fn of<const N: usize>(files: [(&str, &str); N]) -> Files {
        Files(
            files
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .into(),
        )
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The paths in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What differs from the pages as they should be, a sentence each.
    pub(super) fn stale(&self, pages: &BTreeMap<String, String>) -> Vec<String> {
        let differing = pages
            .iter()
            .filter_map(|(path, page)| match self.text(path) {
                None => Some(format!("{path} is missing")),
                Some(text) if text != page => {
                    Some(format!("{path} is stale{}", difference(text, page)))
                }
                Some(_) => None,
            });
        let orphans = self
            .paths()
            .filter(|path| is_generated(path) && !pages.contains_key(*path))
            .map(|path| format!("{path} is about nothing that the provider has"));
        differing.chain(orphans).collect()
    }

    /// Makes the disk agree with the pages.
    pub(super) fn update(&self, pages: &BTreeMap<String, String>) {
        for path in self.paths().filter(|path| is_generated(path)) {
            if !pages.contains_key(path) {
                fs::remove_file(root().join(path)).expect("removing a page");
            }
        }
        for (path, page) in pages {
            let file = root().join(path);
            let folder = file.parent().expect("a page is in a folder");
            fs::create_dir_all(folder).expect("making a folder of pages");
            fs::write(file, page).expect("writing a page");
        }
    }
}

/// Whether a page is made from the provider rather than written by hand.
pub(super) fn is_generated(path: &str) -> bool {
    let of_kind = |folder: &str| path.starts_with(&format!("docs/{folder}/"));
    path == "docs/index.md" || path == guide::PATH || KINDS.iter().any(|kind| of_kind(kind.folder))
}

/// Where two texts part.
fn difference(is: &str, should_be: &str) -> String {
    let mut lines = is.lines().zip(should_be.lines()).zip(1..);
    match lines.find(|((is, should_be), _)| is != should_be) {
        Some(((is, should_be), number)) => {
            format!(", line {number}:\n    is        {is}\n    should be {should_be}")
        }
        None => ": one of them has further lines".to_owned(),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn collect(path: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root().join(path)).expect("listing a folder") {
        let entry = entry.expect("listing a folder");
        let name = entry
            .file_name()
            .into_string()
            .expect("file names are UTF-8");
        let path = format!("{path}/{name}");
        // What OpenTofu leaves behind where somebody tried an example is hidden, or a state.
        if name.starts_with('.') || name.contains(".tfstate") {
            continue;
        }
        if entry.file_type().expect("listing a folder").is_dir() {
            collect(&path, files);
        } else {
            let text =
                fs::read_to_string(root().join(&path)).expect("pages and examples are UTF-8");
            files.insert(path, text);
        }
    }
}
