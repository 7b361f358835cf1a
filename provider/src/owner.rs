//! Owners: the id under which a configuration owns what it has made.
//!
//! Before: a create, or an import. After: the state keeps it, and the fleet store shows it to others.

use domain::hex::hex;
use tfplugin::Diagnostic;

/// A random id: two configurations that declare the same must never look alike.
pub(crate) fn new() -> Result<String, Diagnostic> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Diagnostic::error("No random numbers are to be had").detail(format!(
            "The operating system refused them: {error}. What is made needs an id of its own."
        ))
    })?;
    Ok(hex(&bytes))
}
