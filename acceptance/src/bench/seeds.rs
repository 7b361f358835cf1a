//! How many seeds are rendered in a second: a program beside `domain`, since nothing of ours is imported here.

use anyhow::Result;

use crate::process::{run as finish, tool};
use crate::tofu::repository;

pub(super) fn run() -> Result<()> {
    let mut render = tool(
        "cargo",
        &["run", "--quiet", "--release", "--package", "domain"],
    );
    render.args(["--example", "seeds_per_second"]);
    let told = finish(render.current_dir(repository()))?;
    println!(
        "seeds                {} (aim: at least 1000 in a second)",
        told.trim()
    );
    Ok(())
}
