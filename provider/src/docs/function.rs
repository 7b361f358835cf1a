//! The page of a function: its signature, arguments and result.
//!
//! Before: `docs.rs`. `page.rs` has the parts that all pages share.

use std::fmt::Write as _;

use tfplugin::{Parameter, Signature};

use super::FUNCTION;
use super::attributes::{constraint, type_words};
use super::files::Files;
use super::page::{deprecation, example, finished, front_matter};

/// The page of a function.
pub(super) fn page(name: &str, signature: &Signature, files: &Files) -> String {
    let mut page = front_matter(&format!("{name} Function - homelab"), &signature.summary);
    let _ = write!(page, "# {name} (Function)\n\n");
    page.push_str(&deprecation(signature.deprecation.as_deref()));
    let _ = write!(page, "{}\n\n", signature.description);
    page.push_str(&example(&FUNCTION.example(name, FUNCTION.example), files));
    let _ = write!(
        page,
        "## Signature\n\n```text\n{}\n```\n\n",
        call(name, signature)
    );
    page.push_str(&arguments(signature));
    let _ = write!(
        page,
        "## Return Type\n\n`{}`\n",
        constraint(&signature.returns)
    );
    finished(page)
}

/// As it is called: `join(separator string, words string...) string`.
fn call(name: &str, signature: &Signature) -> String {
    let one = |parameter: &Parameter| format!("{} {}", parameter.name, constraint(&parameter.of));
    let mut parameters: Vec<String> = signature.parameters.iter().map(one).collect();
    parameters.extend(
        signature
            .variadic
            .iter()
            .map(|variadic| one(variadic) + "..."),
    );
    format!(
        "{name}({}) {}",
        parameters.join(", "),
        constraint(&signature.returns)
    )
}

fn arguments(signature: &Signature) -> String {
    let line = |parameter: &Parameter, mark: &str| {
        let nullable = if parameter.allow_null {
            ", Nullable"
        } else {
            ""
        };
        let of = type_words(&parameter.of);
        format!(
            "1. `{}` ({mark}{of}{nullable}) {}\n",
            parameter.name, parameter.description
        )
    };
    let mut lines: String = signature
        .parameters
        .iter()
        .map(|parameter| line(parameter, ""))
        .collect();
    lines.extend(
        signature
            .variadic
            .iter()
            .map(|variadic| line(variadic, "Variadic, ")),
    );
    match lines.is_empty() {
        true => String::new(),
        false => format!("## Arguments\n\n{lines}\n"),
    }
}
