//! Commands as the guide about members has them, so that what is tried is what users read.

use anyhow::{Context as _, Result};

use crate::tofu::repository;

/// The commands of the first shell block below this heading, without their comments, each as its words.
pub(super) fn commands(heading: &str) -> Result<Vec<Vec<String>>> {
    let file = repository().join("docs/guides/members.md");
    let guide =
        std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let finding = || format!("finding commands under {heading:?} in {}", file.display());
    let (_, section) = guide
        .split_once(&format!("\n## {heading}\n"))
        .with_context(finding)?;
    let (_, block) = section.split_once("```shell\n").with_context(finding)?;
    let (block, _) = block.split_once("```").with_context(finding)?;
    let commands = block
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line));
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect();
    Ok(commands.map(words).collect())
}
