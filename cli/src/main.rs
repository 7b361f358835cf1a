//! `homelabctl`: what an operator does by hand, beside the desired state that OpenTofu keeps.
//!
//! ```text
//! main.rs ──┬─> cert.rs    two pairs of keys for a new deployment, made offline
//!           └─> image.rs   install media: a seed into an image, onto a file or a stick
//! ```
//!
//! Everything that goes wrong comes back here and is told once, with its causes. Exit codes: 0 done, 1 failed, 64 used
//! wrongly. Not here: anything that a configuration declares.

mod cert;
mod image;
mod progress;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What sysexits.h calls EX_USAGE.
const USED_WRONGLY: u8 = 64;

/// The operator's acts that are not desired state.
#[derive(Parser)]
#[command(name = "homelabctl", version)]
struct Cli {
    #[command(subcommand)]
    act: Act,
}

#[derive(Subcommand)]
enum Act {
    /// Client certificates for the trust store of Incus
    #[command(subcommand)]
    Cert(Cert),
    /// Install media for machines
    #[command(subcommand)]
    Image(Image),
}

#[derive(Subcommand)]
enum Cert {
    /// Make the two certificates of a deployment, break-glass and joiner, without any machine
    New(cert::New),
}

#[derive(Subcommand)]
enum Image {
    /// Write a machine's seed into an IncusOS image or onto a volume of its own
    Write(image::Write),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            // Help and version come this way too, and are no mistakes.
            let is_mistake = told.use_stderr();
            let _ = told.print();
            return ExitCode::from(if is_mistake { USED_WRONGLY } else { 0 });
        }
    };
    match perform(cli.act) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&*error);
            ExitCode::FAILURE
        }
    }
}

fn perform(act: Act) -> Result<(), Box<dyn Error>> {
    let report = match act {
        Act::Cert(Cert::New(new)) => cert::new(&new)?,
        Act::Image(Image::Write(write)) => image::write(&write)?,
    };
    Ok(writeln!(io::stdout(), "{report}")?)
}

fn tell(error: &dyn Error) {
    let mut text = format!("homelabctl: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    // If even this cannot be written, nobody is there to read it.
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_image_needs_to_be_told_where_from_and_where_to() {
        for (line, is_understood) in [
            ("image write --seed s.tar --base i.img --output o.img", true),
            (
                "image write --seed - --base i.img.gz --output /dev/sdb --yes sdb --verify full",
                true,
            ),
            (
                "image write --seed s.tar --seed-data --format seed-data-iso --output o.iso",
                true,
            ),
            ("image write --seed s.tar --output o.img", false),
            (
                "image write --seed s.tar --base i.img --seed-data --output o.img",
                false,
            ),
            (
                "image write --seed s.tar --base i.img --format seed-data-iso --output o",
                false,
            ),
            (
                "image write --seed s.tar --seed-data --format tar --output o",
                false,
            ),
            ("image write --base i.img --output o.img", false),
            ("image write --seed s.tar --base i.img", false),
            ("cert new --name home", true),
            ("cert new", false),
        ] {
            let words = ["homelabctl"].into_iter().chain(line.split(' '));
            assert_eq!(Cli::try_parse_from(words).is_ok(), is_understood, "{line}");
        }
    }
}
