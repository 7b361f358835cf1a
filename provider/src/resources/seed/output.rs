//! The output of a seed: a file that is written, missed, and taken away again.
//!
//! After: `crates/media` packs, encrypts and writes. Two seeds with one path would make a medium for the wrong machine, so
//! paths are noted for as long as the process runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use media::{Files, Format, Recipient};
use tfplugin::{Diagnostic, Diagnostics, Value};

use crate::diagnose;

/// What this process knows about outputs.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Path → the machine whose seed is planned to be there.
    planned: BTreeMap<String, String>,
    /// What was written.
    written: BTreeSet<String>,
}

impl Outputs {
    /// Another run begins.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Plans a seed; the name of the machine whose seed is planned to be there already.
    pub(super) fn plan(&self, path: &str, machine: &str) -> Option<String> {
        let mut known = self.known();
        let planned = known.planned.entry(path.to_owned());
        let owner = planned.or_insert_with(|| machine.to_owned());
        (owner != machine).then(|| owner.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path in a configuration or a state, if there is an output and it is known.
pub(super) fn path(value: &Value) -> Option<&str> {
    value.attr("output").attr("path").as_str()
}

/// Whether the file is there.
pub(super) fn is_there(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0)
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
        let error = recipient.as_str()?.parse::<Recipient>().err()?;
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
    /// Writes what the configuration wants written.
    pub(super) fn write(
        &self,
        config: &Value,
        machine: &str,
        files: &Files,
    ) -> Result<(), Diagnostic> {
        let Some(path) = path(config) else {
            return Ok(());
        };
        write(config, path, files).map_err(|error| {
            Diagnostic::error(format!(
                "The seed of machine {machine} could not be written"
            ))
            .detail(format!(
                "{error} Expected a folder that can be written to. Mend this, and apply again."
            ))
            .at(tfplugin::Path::new("output").attr("path"))
        })?;
        self.known().written.insert(path.to_owned());
        Ok(())
    }

    /// Takes a file away that is no seed's any more. One that is gone already is no error, and what was written in this
    /// run is somebody's: a replacement's, or another seed's that took the path over.
    pub(super) fn remove(&self, path: &str, machine: &str) -> Option<Diagnostic> {
        if self.known().written.contains(path) {
            return None;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Some(
                Diagnostic::error(format!("The seed of machine {machine} could not be removed"))
                    .detail(format!(
                        "Removing {path}: {error}. It holds the machine's secrets: remove it by hand, and apply again."
                    )),
            ),
            _ => None,
        }
    }
}

fn write(config: &Value, path: &str, files: &Files) -> Result<(), String> {
    let text = config.attr("output").attr("format").as_str();
    let format: Result<Format, _> = text.unwrap_or_default().parse();
    let format = format.map_err(|error| diagnose::told(&error))?;
    let recipients = config.attr("encrypt_to").as_list().unwrap_or_default();
    let recipients = recipients.iter().filter_map(Value::as_str);
    let recipients: Result<Vec<Recipient>, _> = recipients.map(str::parse).collect();
    let recipients = recipients.map_err(|error| diagnose::told(&error))?;
    media::write_output(Path::new(path), format, files, &recipients)
        .map_err(|error| diagnose::told(&error))
}
