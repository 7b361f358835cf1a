//! The pages that registries show, made from the schemas and the examples, and the tests that keep them true.
//!
//! ```text
//! provider.rs, resources/*.rs ──> docs.rs ──┬─> docs/page.rs        a page: title, description, examples, import
//! examples/                                 ├─> docs/attributes.rs  its attributes
//!                                           ├─> docs/function.rs    or its signature
//!                                           ├─> docs/guide.rs       the guide that repeats ephemeral resources
//!                                           └─> docs/files.rs       compared with docs/, or written there
//! ```
//!
//! Nothing of it is in the product. Not here: the other guides in `docs/guides`, which are written by hand; of them only
//! the front matter and the links are checked.

mod attributes;
mod files;
mod function;
mod guide;
mod page;
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tfplugin::Provider;

use files::Files;

/// A kind of things that has pages: where they are, where its examples are, and what it is called.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The folder below `docs` and below `examples`.
    folder: &'static str,
    /// The example that each of them must have.
    example: &'static str,
    /// The word in titles.
    word: &'static str,
}

const RESOURCE: Kind = Kind {
    folder: "resources",
    example: "resource.tf",
    word: "Resource",
};
const DATA_SOURCE: Kind = Kind {
    folder: "data-sources",
    example: "data-source.tf",
    word: "Data Source",
};
const EPHEMERAL_RESOURCE: Kind = Kind {
    folder: "ephemeral-resources",
    example: "ephemeral-resource.tf",
    word: "Ephemeral Resource",
};
const FUNCTION: Kind = Kind {
    folder: "functions",
    example: "function.tf",
    word: "Function",
};

/// All of them.
const KINDS: [Kind; 4] = [RESOURCE, DATA_SOURCE, EPHEMERAL_RESOURCE, FUNCTION];

/// The provider's own example.
const PROVIDER_EXAMPLE: &str = "examples/provider/provider.tf";

/// The examples of an import that a resource may have, in the order of its page.
const IMPORTS: [&str; 3] = [
    "import.sh",
    "import-by-string-id.tf",
    "import-by-identity.tf",
];

impl Kind {
    /// The page of `name`; names on pages go without the provider's.
    fn page(self, name: &str) -> String {
        let short = name.strip_prefix("homelab_").unwrap_or(name);
        format!("docs/{}/{short}.md", self.folder)
    }

    /// One of the examples of `name`.
    fn example(self, name: &str, file: &str) -> String {
        format!("examples/{}/{name}/{file}", self.folder)
    }
}

/// Every page that is made from the provider, by its path.
fn pages(provider: &dyn Provider, files: &Files) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for (name, resource) in provider.resources() {
        let page = page::resource(name, resource.as_ref(), files);
        pages.insert(RESOURCE.page(name), page);
    }
    for (name, source) in provider.data_sources() {
        let page = page::of(DATA_SOURCE, name, &source.schema(), files);
        pages.insert(DATA_SOURCE.page(name), page);
    }
    let mut ephemerals = Vec::new();
    for (name, ephemeral) in provider.ephemeral_resources() {
        let page = page::of(EPHEMERAL_RESOURCE, name, &ephemeral.schema(), files);
        ephemerals.push((name, page.clone()));
        pages.insert(EPHEMERAL_RESOURCE.page(name), page);
    }
    for (name, function) in provider.functions() {
        let page = function::page(name, &function.signature(), files);
        pages.insert(FUNCTION.page(name), page);
    }
    let written = files.paths().filter(|path| guide::is_written(path));
    let mut guides: BTreeMap<String, String> = written
        .filter_map(|path| Some((path.to_owned(), files.text(path)?.to_owned())))
        .collect();
    if !ephemerals.is_empty() {
        let guide = guide::of_ephemerals(&ephemerals);
        guides.insert(guide::PATH.to_owned(), guide.clone());
        pages.insert(guide::PATH.to_owned(), guide);
    }
    let index = page::index(&provider.schema(), &guides, files);
    pages.insert("docs/index.md".to_owned(), index);
    pages
}

/// What is wrong with the examples: one that is missing, one that belongs to nothing.
fn wrong_examples(provider: &dyn Provider, files: &Files) -> Vec<String> {
    let mut required = BTreeSet::from([PROVIDER_EXAMPLE.to_owned()]);
    let mut allowed = BTreeSet::new();
    for (kind, name) in registered(provider) {
        required.insert(kind.example(name, kind.example));
    }
    for (name, resource) in provider.resources() {
        allowed.extend(IMPORTS.map(|file| RESOURCE.example(name, file)));
        if resource.identity().is_some() {
            required.insert(RESOURCE.example(name, IMPORTS[2]));
        }
    }
    let missing = required
        .iter()
        .filter(|path| files.text(path).is_none())
        .map(|path| format!("{path} is missing"));
    let folders = KINDS.map(|kind| format!("examples/{}/", kind.folder));
    let strays = files
        .paths()
        .filter(|path| folders.iter().any(|folder| path.starts_with(folder)))
        .filter(|path| !required.contains(*path) && !allowed.contains(*path))
        .map(|path| format!("{path} belongs to nothing that the provider has"));
    missing.chain(strays).collect()
}

/// Everything that the provider registers besides itself.
fn registered(provider: &dyn Provider) -> Vec<(Kind, &'static str)> {
    let resources = provider
        .resources()
        .into_iter()
        .map(|(name, _)| (RESOURCE, name));
    let sources = provider
        .data_sources()
        .into_iter()
        .map(|(name, _)| (DATA_SOURCE, name));
    let ephemerals = provider.ephemeral_resources();
    let ephemerals = ephemerals
        .into_iter()
        .map(|(name, _)| (EPHEMERAL_RESOURCE, name));
    let functions = provider
        .functions()
        .into_iter()
        .map(|(name, _)| (FUNCTION, name));
    resources
        .chain(sources)
        .chain(ephemerals)
        .chain(functions)
        .collect()
}
