//! The one guide that is generated: it repeats the pages of ephemeral resources.
//!
//! Before: `page.rs` has made those pages. OpenTofu's registry shows resources, data sources, functions and guides, but no
//! pages of ephemeral resources, so without this nobody would find them there.

use super::files::is_generated;
use super::page::{GUIDES, finished, front_matter};

/// Where it is.
pub(super) const PATH: &str = "docs/guides/ephemeral-resources.md";

/// Whether a path is a guide that is written by hand.
pub(super) fn is_written(path: &str) -> bool {
    path.starts_with(GUIDES) && !is_generated(path)
}

/// The guide with these pages, each under its own heading.
pub(super) fn of_ephemerals(pages: &[(&str, String)]) -> String {
    let mut guide = front_matter(
        "Ephemeral resources",
        "What lasts for one command of OpenTofu, and is in no plan and no state: every ephemeral resource of this provider.",
    );
    guide.push_str(
        "# Ephemeral resources\n\nWhat they give lasts for one command of OpenTofu, and is in no plan and no state. Use it in provider \
         blocks, in write-only attributes, and in other ephemeral places.\n\n",
    );
    for (name, page) in pages {
        guide.push_str(&section(name, page));
    }
    finished(guide)
}

/// A page without its front matter, one level down. Its anchors get its name, since another section may have the same.
fn section(name: &str, page: &str) -> String {
    let start = page.find("\n# ").map_or(0, |end| end + 1);
    let mut in_code = false;
    let mut section = String::new();
    for line in page[start..].lines() {
        in_code ^= line.starts_with("```");
        if line.starts_with('#') && !in_code {
            section.push('#');
        }
        section.push_str(line);
        section.push('\n');
    }
    section.replace("nestedatt--", &format!("{name}--")) + "\n"
}
