//! How long it takes to decide about ten thousand workloads: a program beside `domain`, since nothing of ours is imported here.

use anyhow::Result;

use crate::process::{run as finish, tool};
use crate::tofu::repository;

pub(super) fn run() -> Result<()> {
    let mut decide = tool(
        "cargo",
        &["run", "--quiet", "--release", "--package", "domain"],
    );
    decide.args(["--example", "rollouts"]);
    let told = finish(decide.current_dir(repository()))?;
    println!("decisions\n{}", told.trim_end());
    Ok(())
}
