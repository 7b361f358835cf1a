//! The output of a seed: a file that is written, missed, and taken away again.
//!
//! After: `crates/media` packs, encrypts and writes. Two seeds with one path would make a medium for the wrong machine, so
//! paths are noted for as long as the process runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use media::{Files, Format, Recipient};
use tfplugin::{Diagnostic, Diagnostics, Value};

use super::plan::sha256;
use crate::diagnose;

/// What this process knows about outputs.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// File → the machine whose seed is planned to be there.
    planned: BTreeMap<PathBuf, Owner>,
    /// What was written.
    written: BTreeSet<PathBuf>,
}

/// Two sites may well have machines of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    name: String,
    mac: String,
}

impl Owner {
    fn of(config: &Value) -> Owner {
        let machine = config.attr("machine");
        let text = |name: &str| machine.attr(name).as_str().unwrap_or_default().to_owned();
        Owner {
            name: text("name"),
            mac: text("mac"),
        }
    }
}

impl Outputs {
    /// Another run begins.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Plans a seed; the name of another machine whose seed is planned to be there already.
    pub(super) fn plan(&self, path: &str, config: &Value) -> Option<String> {
        let mut known = self.known();
        let planned = known.planned.entry(file(path));
        let ours = Owner::of(config);
        let owner = planned.or_insert_with(|| ours.clone());
        (*owner != ours).then(|| owner.name.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One name for a file, however its path is spelled.
pub(super) fn file(path: &str) -> PathBuf {
    let path = Path::new(path);
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (folder, name) = (absolute.parent(), absolute.file_name());
    match (
        folder.and_then(|folder| fs::canonicalize(folder).ok()),
        name,
    ) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => absolute,
    }
}

/// The path in a configuration or a state, if there is an output and it is known.
pub(super) fn path(value: &Value) -> Option<&str> {
    value.attr("output").attr("path").as_str()
}

/// What a file holds, as it is noted beside the state: what is written is known again, also as ciphertext.
pub(super) fn digest(path: &str) -> Option<String> {
    let content = fs::read(path).ok().filter(|content| !content.is_empty())?;
    Some(sha256(content))
}

/// Whether the file is there, and what was written to it. Without a note any file is taken for it.
pub(super) fn is_there(path: &str, noted: Option<&str>) -> bool {
    match (digest(path), noted) {
        (Some(seen), Some(noted)) => seen == noted,
        (seen, _) => seen.is_some(),
    }
}

/// Judges output and recipients by themselves.
pub(super) fn check(config: &Value) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let output = config.attr("output");
    if let Some(path) = path(config)
        && (path.is_empty() || path.ends_with('/') || is_something_else(path))
    {
        diagnostics.push(
            Diagnostic::error("The output of a seed is no file")
                .detail(format!(
                    "The path is {path:?}. Expected a file, which is made or replaced; `homelabctl image write` writes to \
                     devices."
                ))
                .at(tfplugin::Path::new("output").attr("path")),
        );
    }
    if let Some(text) = output.attr("format").as_str()
        && let Err(error) = text.parse::<Format>()
    {
        diagnostics.push(
            Diagnostic::error("The format of a seed's output is not known")
                .detail(diagnose::told(&error))
                .at(tfplugin::Path::new("output").attr("format")),
        );
    }
    diagnostics.extend(check_recipients(config));
    diagnostics
}

/// A folder or a device.
fn is_something_else(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|file| !file.is_file())
}

fn check_recipients(config: &Value) -> Diagnostics {
    let at = tfplugin::Path::new("encrypt_to");
    let Some(recipients) = config.attr("encrypt_to").as_list() else {
        return Diagnostics::new();
    };
    if recipients.is_empty() || config.attr("output").is_null() {
        let error = Diagnostic::error("Nothing is encrypted").detail(
            "encrypt_to is for the output: expected output to be set, and at least one recipient (`age1…`). Set both, or remove \
             encrypt_to.",
        );
        return error.at(at).into();
    }
    let refusal = |(index, recipient): (usize, &Value)| {
        let error = match recipient {
            Value::Unknown => return None,
            // Left out, it would leave the seed to others, or to everybody.
            Value::Null => "".parse::<Recipient>().err()?,
            text => text.as_str()?.parse::<Recipient>().err()?,
        };
        let refusal = Diagnostic::error("A recipient of a seed is not valid");
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Some(
            refusal
                .detail(diagnose::told(&error))
                .at(at.clone().index(index)),
        )
    };
    recipients.iter().enumerate().filter_map(refusal).collect()
}

impl Outputs {
    /// Writes what the configuration wants written, and notes what that is.
    pub(super) fn write(
        &self,
        config: &Value,
        machine: &str,
        files: &Files,
    ) -> Result<Option<String>, Diagnostic> {
        let Some(path) = path(config) else {
            return Ok(None);
        };
        // Nobody takes the file away while it is being written.
        let mut known = self.known();
        write(config, path, files).map_err(|error| {
            Diagnostic::error(format!(
                "The seed of machine {machine} could not be written"
            ))
            .detail(format!(
                "{error} Expected a folder that can be written to. Mend this, and apply again."
            ))
            .at(tfplugin::Path::new("output").attr("path"))
        })?;
        known.written.insert(file(path));
        Ok(digest(path))
    }

    /// Takes a file away that is no seed's any more. One that is gone already is no error. One that was written in this
    /// run is somebody's: a replacement's, or another seed's that took the path over. One that is not what was `noted`
    /// is not ours.
    pub(super) fn remove(
        &self,
        path: &str,
        noted: Option<&str>,
        machine: &str,
    ) -> Option<Diagnostic> {
        let known = self.known();
        if known.written.contains(&file(path)) {
            return None;
        }
        if digest(path).is_some() && !is_there(path, noted) {
            return Some(
                Diagnostic::warning(format!("The seed of machine {machine} is left where it is"))
                    .detail(format!(
                        "{path} is not the file that was written. Remove it by hand if it is not needed: it may hold the \
                         machine's secrets."
                    )),
            );
        }
        match fs::remove_file(path) {
            Ok(()) => None,
            Err(error) if is_gone(&error) => None,
            Err(error) => Some(
                Diagnostic::error(format!(
                    "The seed of machine {machine} could not be removed"
                ))
                .detail(format!(
                    "Removing {path}: {error}. It holds the machine's secrets: remove it by hand, and apply again."
                )),
            ),
        }
    }
}

/// There is no such file, or not even a folder that it could be in.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn write(config: &Value, path: &str, files: &Files) -> Result<(), String> {
    let text = config.attr("output").attr("format").as_str();
    let format: Result<Format, _> = text.unwrap_or_default().parse();
    let format = format.map_err(|error| diagnose::told(&error))?;
    let recipients = config.attr("encrypt_to").as_list().unwrap_or_default();
    let recipients = recipients
        .iter()
        .map(|one| one.as_str().unwrap_or_default());
    let recipients: Result<Vec<Recipient>, _> = recipients.map(str::parse).collect();
    let recipients = recipients.map_err(|error| diagnose::told(&error))?;
    media::write_output(Path::new(path), format, files, &recipients)
        .map_err(|error| diagnose::told(&error))
}
