//! The command line of the acceptance suite: what `make` calls, and what one calls by hand.
//!
//! Reads arguments, calls the library, and turns its errors into exit codes (HO-CI-02). Nothing is decided here.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::path::Path;
use std::process::ExitCode;

use acceptance::lab::{self, Lab, Record, Tunnel};
use acceptance::process::Missing;
use acceptance::scenario::{self, Options};
use acceptance::{bench, demo, interrupt, scenarios, soak, suite};
use anyhow::{Context, Result, bail};
use serde_json::json;

const USAGE: &str = "usage:
  acceptance lab up [--members N] [--name SLUG]   bring up a lab that stays until it is taken down;
                                                  LAB_INCUS=7.0 in the environment: with the newer Incus
  acceptance lab down [ID | --stale | --all]      take down the only lab, a lab, those without a runner, all
  acceptance lab list                             labs on this machine
  acceptance scenarios [--describe] [--strict] [--allow-skip TAG] [FILTER] [--list] [--test-threads N]
  acceptance test                                 all checks, unit tests and scenarios, with one count
  acceptance demo                                 examples/quickstart, step by step
  acceptance soak [create|roll|scale|destroy|bootstrap|join|join-newer|remove|remove-newer]...
                                                  kill the provider around every request
  acceptance bench [start|size|seeds|decide|media|join|apps|rollout]...
                                                  ratios to peers, in one run
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["lab", "guard", directory] => lab::guard::stand(Path::new(directory)).map(|()| 0),
        ["lab", "hold-tunnel", slug] => hold_tunnel(slug).map(|()| 0),
        ["lab", "hold-registry", slug] => hold_lab(slug, true).map(|()| 0),
        ["lab", "hold", slug] => hold_lab(slug, false).map(|()| 0),
        ["scenarios", options @ ..] => scenarios(options),
        ["test"] => suite::run(),
        ["demo"] => demo::run().map(|()| 0),
        ["soak", names @ ..] => soak::run(names),
        ["bench", names @ ..] => bench::run(names).map(|()| 0),
        ["lab", "up", options @ ..] => lab_up(options).map(|()| 0),
        ["lab", "down", which @ ..] => lab_down(which).map(|()| 0),
        ["lab", "list"] => Ok(lab_list()),
        _ => {
            eprint!("{USAGE}");
            Ok(64)
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(if error.chain().any(|cause| cause.is::<Missing>()) {
                2
            } else {
                1
            })
        }
    }
}

fn lab_up(options: &[&str]) -> Result<()> {
    interrupt::listen()?;
    let (mut members, mut slug) = (1, "hand");
    for option in options.chunks(2) {
        match option {
            ["--members", number] => {
                members = number.parse().context("--members wants a number")?
            }
            ["--name", name] => slug = name,
            _ => bail!("unknown option {}\n{USAGE}", option.join(" ")),
        }
    }
    let lab = Lab::up(slug, members)?;
    let sockets: Vec<String> = lab
        .members()
        .iter()
        .map(|member| format!("unix://{}", member.socket().display()))
        .collect();
    println!("{}", lab.keep()?.id);
    for socket in sockets {
        println!("  {socket}");
    }
    Ok(())
}

/// Brings up a lab with one running container, and with a registry or not, and waits to be killed: what
/// `scenarios/lab.rs` kills.
fn hold_lab(slug: &str, with_registry: bool) -> Result<()> {
    interrupt::listen()?;
    let lab = Lab::up(slug, 1)?;
    let _registry = with_registry.then(|| lab.registry()).transpose()?;
    let container = json!({
        "name": "held", "type": "container", "start": true,
        "source": { "type": "image", "alias": lab::VERSION_1 },
        "devices": { "root": { "type": "disk", "path": "/", "pool": lab::POOL } },
    });
    lab.observer()
        .finish("POST", "/1.0/instances", Some(&container))?;
    hold(lab.directory())?;
    lab.down()
}

/// The same with a tunnel.
fn hold_tunnel(slug: &str) -> Result<()> {
    interrupt::listen()?;
    let tunnel = Tunnel::up(slug)?;
    hold(tunnel.directory())?;
    tunnel.down()
}

fn hold(directory: &Path) -> Result<()> {
    println!("{}", directory.display());
    let waited = std::io::stdin().read_line(&mut String::new());
    waited.context("waiting").map(drop)
}

fn scenarios(words: &[&str]) -> Result<u8> {
    let options = Options::parse(words)?;
    let scenarios = scenarios::all();
    if options.describe {
        scenario::describe(&scenarios);
        return Ok(0);
    }
    interrupt::listen()?;
    let tally = scenario::run(&scenarios, &options)?;
    Ok(tally.exit_code(options.strict))
}

fn lab_down(which: &[&str]) -> Result<()> {
    let all = Record::all();
    let records: Vec<&Record> = match which {
        // Somebody else may have a lab on this machine too, so without a name there must be no doubt.
        [] if all.len() > 1 => {
            lab_list();
            bail!("several labs are up: which one?");
        }
        [] | ["--all"] => all.iter().collect(),
        ["--stale"] => all
            .iter()
            .filter(|record| !record.kept && !record.runner_is_alive())
            .collect(),
        [id] => vec![
            all.iter()
                .find(|record| record.id == *id)
                .with_context(|| format!("no such lab: {id}"))?,
        ],
        _ => bail!("one lab at a time, or --all"),
    };
    for record in records {
        lab::down(record)?;
        println!("{} is down", record.id);
    }
    Ok(())
}

fn lab_list() -> u8 {
    for record in Record::all() {
        let runner = match record {
            _ if record.runner_is_alive() => "its runner runs",
            _ if record.kept => "kept",
            _ => "stale: its runner is gone",
        };
        println!(
            "{}  {} {}, {runner}, {}",
            record.id,
            record.members.len(),
            match record.releases().as_slice() {
                [] => "end(s) of a tunnel".to_owned(),
                releases => format!("member(s) with Incus {}", releases.join(" and ")),
            },
            record.directory.display()
        );
    }
    0
}
