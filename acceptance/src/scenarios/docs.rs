//! Pages and examples: everything that a user copies from them is valid, and the pages show what the provider serves.
//!
//! That pages are what the generator makes is a test beside it (`provider/src/docs/tests.rs`); here OpenTofu is asked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::scenario::{Context, Scenario};
use crate::tofu::repository;
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "every_example_is_valid",
        proves: "OpenTofu accepts every example, alone and with each of its imports, and would not format it otherwise.",
        group: "docs",
        needs: &[],
        seconds: 5,
        run: examples,
    },
    Scenario {
        name: "what_guides_show_is_valid",
        proves: "The configurations in each guide, put together, are one that OpenTofu accepts.",
        group: "docs",
        needs: &[],
        seconds: 2,
        run: guides,
    },
    Scenario {
        name: "pages_show_everything_that_is_served",
        proves: "What OpenTofu reads as the provider's schema and what its pages list are the same attributes and parameters.",
        group: "docs",
        needs: &[],
        seconds: 2,
        run: pages,
    },
    Scenario {
        name: "what_pages_warn_of_is_so",
        proves: "OpenTofu says nothing of a misspelt name in a nested attribute, and refuses a provider block that needs itself.",
        group: "docs",
        needs: &[],
        seconds: 1,
        run: warnings,
    },
];

/// Without it OpenTofu takes the provider for one of its own makers.
const REQUIREMENT: &str = "terraform {\n  required_providers {\n    homelab = { source = \"homelab-ops/homelab\" }\n  }\n}\n";

fn examples(context: &Context) -> Result<()> {
    let root = repository().join("examples");
    let folders = folders(&root)?;
    ensure!(folders.len() >= 4, "examples are missing: {folders:?}");
    for (number, folder) in folders.iter().enumerate() {
        let workspace = context.workspace(&format!("docs-example-{number}"))?;
        let (imports, files): (Vec<PathBuf>, Vec<PathBuf>) = configurations(folder)?
            .into_iter()
            .partition(|file| name(file).starts_with("import-"));
        let mut text = String::new();
        for file in files {
            text.push_str(&fs::read_to_string(file)?);
        }
        expect_valid(&workspace, &text, &folder.display().to_string())?;
        for import in imports {
            workspace.write("import.tf", &fs::read_to_string(&import)?)?;
            expect_valid(&workspace, &text, &import.display().to_string())?;
        }
    }
    let workspace = context.workspace("docs-format")?;
    let root = root.display().to_string();
    workspace
        .run(&["fmt", "-check", "-recursive", "-no-color", &root])?
        .succeeded()
        .map(drop)
}

fn guides(context: &Context) -> Result<()> {
    let guides = fs::read_dir(repository().join("docs/guides"))?;
    let mut shown = 0;
    for (number, guide) in guides.enumerate() {
        let guide = guide?.path();
        let text = fs::read_to_string(&guide)?;
        let blocks = text.split("```terraform\n").skip(1);
        let configuration: String = blocks
            .filter_map(|block| block.split("```").next())
            .collect();
        if !configuration.is_empty() {
            let workspace = context.workspace(&format!("docs-guide-{number}"))?;
            expect_valid(&workspace, &configuration, &guide.display().to_string())?;
            shown += 1;
        }
    }
    ensure!(shown > 0, "no guide shows a configuration");
    Ok(())
}

fn pages(context: &Context) -> Result<()> {
    let workspace = context.workspace("docs-pages")?;
    workspace.main("")?;
    let schemas = workspace
        .run(&["providers", "schema", "-json"])?
        .succeeded()?;
    let document = schemas.output.lines().find(|line| line.starts_with('{'));
    let schemas: Value = serde_json::from_str(document.context("no schemas were printed")?)?;
    let provider = schemas["provider_schemas"]
        .as_object()
        .and_then(|providers| providers.values().next())
        .context("OpenTofu knows of no provider")?;
    expect_attributes("index", &provider["provider"])?;
    for (kind, folder) in [
        ("resource_schemas", "resources"),
        ("data_source_schemas", "data-sources"),
        ("ephemeral_resource_schemas", "ephemeral-resources"),
    ] {
        for (name, schema) in provider[kind].as_object().into_iter().flatten() {
            let short = name.trim_start_matches("homelab_");
            expect_attributes(&format!("{folder}/{short}"), schema)?;
        }
    }
    for (name, signature) in provider["functions"].as_object().into_iter().flatten() {
        let parameters = signature["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.chain(signature.get("variadic_parameter"));
        let served: Vec<&str> = parameters
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let page = format!("functions/{name}");
        let listed = read_page(&page)?;
        let listed: Vec<&str> = names_after("1. `", &listed).collect();
        ensure!(
            listed == served,
            "{page} lists {listed:?}, and OpenTofu sees {served:?}"
        );
    }
    Ok(())
}

fn read_page(page: &str) -> Result<String> {
    let path = repository().join(format!("docs/{page}.md"));
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// What stands between this beginning of a line and the next backtick.
fn names_after<'a>(start: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(start)?.split('`').next())
}

/// The pages say these two things about OpenTofu; should a later version behave otherwise, they have to say so.
fn warnings(context: &Context) -> Result<()> {
    let workspace = context.workspace("docs-warnings")?;
    let app = |timeouts: &str| {
        format!(
            "resource \"homelab_app\" \"web\" {{\n  name     = \"web\"\n  type     = \"generic-stateless\"\n  replicas = 1\n  \
             image    = {{ alias = \"web/v1\" }}\n  timeouts = {timeouts}\n}}\n"
        )
    };
    workspace.main(&app("{ creat = \"1h\" }"))?;
    workspace.validate()?.succeeded()?.says_not("creat")?;
    workspace.main(&app("{ create = \"soon\" }"))?;
    workspace.validate()?.failed()?.says("create")?;

    // The guide shows what to do instead, and `what_guides_show_is_valid` that it works.
    let guide = fs::read_to_string(repository().join("docs/guides/provider-blocks.md"))?;
    let refused = guide
        .split("```hcl\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let refused = refused.context("the guide shows no block that is refused")?;
    let network = "resource \"homelab_network\" \"lan\" {\n  name   = \"lan\"\n  kind   = \"overlay\"\n  \
                   cidr   = \"10.9.0.0/24\"\n  claims = { a = null }\n}\n";
    workspace.main(&format!("{refused}{network}"))?;
    // Which of the two OpenTofu names first is left to chance.
    let said = workspace.validate()?.failed()?.says("Error: Cycle: ")?;
    said.says("homelab_network.lan")?.says("provider[")?;
    Ok(())
}

/// Checks that a page lists the attributes of a schema at every depth, and as many lines as there are attributes.
fn expect_attributes(page: &str, schema: &Value) -> Result<()> {
    let text = read_page(page)?;
    let section = text.split("\n## Schema\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut listed: Vec<&str> = names_after("- `", section).collect();
    let mut served = Vec::new();
    attributes(&schema["block"]["attributes"], &mut served);
    listed.sort_unstable();
    served.sort_unstable();
    ensure!(!served.is_empty(), "{page} has no attributes");
    ensure!(
        listed == served,
        "{page} lists {listed:?}, and OpenTofu sees {served:?}"
    );
    Ok(())
}

fn attributes<'a>(of: &'a Value, names: &mut Vec<&'a str>) {
    for (name, attribute) in of.as_object().into_iter().flatten() {
        names.push(name);
        attributes(&attribute["nested_type"]["attributes"], names);
    }
}

fn expect_valid(workspace: &Workspace, text: &str, what: &str) -> Result<()> {
    let requirement = if text.contains("required_providers") {
        ""
    } else {
        REQUIREMENT
    };
    workspace.write("main.tf", &format!("{requirement}{text}"))?;
    workspace
        .validate()?
        .succeeded()
        .with_context(|| format!("{what} is not valid"))?;
    Ok(())
}

/// All folders below one that hold configurations.
fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !configurations(root)?.is_empty() {
        found.push(root.to_owned());
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // Where somebody tried an example there are hidden folders of OpenTofu's own.
        if entry.file_type()?.is_dir() && !name(&entry.path()).starts_with('.') {
            found.extend(folders(&entry.path())?);
        }
    }
    Ok(found)
}

fn configurations(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tf") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
