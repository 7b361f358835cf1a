//! Links between pages lead somewhere.
//!
//! Only what is in the repository is looked at: whether an address on the internet answers is not ours to test.

use std::path::Path;

use super::{Files, assert_none};

#[test]
fn links_lead_somewhere() {
    assert_none(&dead_links(&Files::read()), "these links lead nowhere:");
}

/// The relative links of all pages in `docs` that name no page there, or no anchor that is written out on it.
fn dead_links(files: &Files) -> Vec<String> {
    let mut dead = Vec::new();
    for path in files.paths().filter(|path| path.starts_with("docs/")) {
        let text = files.text(path).unwrap_or_default();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = match target.is_empty() {
                true => Some(path.to_owned()),
                false => joined(path, target),
            };
            // What leads out of docs and examples, or out of the repository, is not ours to follow.
            let Some(page) =
                page.filter(|page| page.starts_with("docs/") || page.starts_with("examples/"))
            else {
                continue;
            };
            let there = files.text(&page);
            let anchored = anchor.is_empty() || there.is_some_and(|text| has_anchor(text, anchor));
            let is_folder = files
                .paths()
                .any(|path| path.starts_with(&format!("{page}/")));
            if !(is_folder || there.is_some() && anchored) {
                dead.push(format!("{path}: {link}"));
            }
        }
    }
    dead
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|letter| letter.is_alphanumeric() || *letter == '-' || *letter == ' ');
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect::<String>()
            == anchor
    };
    text.contains(&format!("<a id=\"{anchor}\">"))
        || text
            .lines()
            .any(|line| line.starts_with('#') && heading(line))
}

/// Where a relative link from a page leads; `None` for an address.
fn joined(page: &str, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let mut parts: Vec<&str> = Path::new(page).parent()?.to_str()?.split('/').collect();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[test]
fn dead_links_are_found() {
    let files = Files::of([
        (
            "docs/index.md",
            "[a](guides/a.md) [b](guides/b.md) [c](https://example.org)",
        ),
        (
            "docs/guides/a.md",
            "# One two\n[d](../index.md) [e](#one-two) [f](#three) [g](../../README.md)",
        ),
    ]);
    assert_eq!(
        dead_links(&files),
        ["docs/guides/a.md: #three", "docs/index.md: guides/b.md"]
    );
}
