//! The certificates that a seed trusts: the operator's own, and that of whoever joins the machine.

use super::{at, missing};
use crate::certificate;
use crate::given::Given;
use crate::issue::{Issue, attribute};
use crate::seed::declared::Declared;

/// HO-SEED-09, HO-SEED-10, HO-SEED-17, HO-SEED-20.
pub(super) fn check(seed: &Declared, issues: &mut Vec<Issue>) {
    if seed.break_glass_certificate == Given::Absent {
        issues.push(missing(
            &["break_glass_certificate"],
            "break-glass certificate",
            "a client certificate in PEM form: without one nobody could reach the machine.",
        ));
    }
    let break_glass = read(
        &seed.break_glass_certificate,
        "break_glass_certificate",
        "break-glass",
        issues,
    );
    let joiner = read(
        &seed.joiner_certificate,
        "joiner_certificate",
        "joiner",
        issues,
    );
    check_role(seed, issues);
    if break_glass.is_some() && break_glass == joiner {
        issues.push(Issue::new(
            attribute("joiner_certificate"),
            "The joiner certificate is the break-glass certificate",
            "Both are the same, and Incus takes a certificate only once. Expected a pair of its own for whoever joins \
             machines: its key goes to the agents, that of the break-glass certificate stays with the operator.",
        ));
    }
}

fn read(
    given: &Given<String>,
    name: &'static str,
    what: &str,
    issues: &mut Vec<Issue>,
) -> Option<Vec<u8>> {
    match certificate::one(given.known()?) {
        Ok(der) => Some(der),
        Err(error) => {
            issues.push(Issue::new(
                attribute(name),
                format!("The {what} certificate is not valid"),
                format!(
                    "The text {error}. Expected exactly one PEM block CERTIFICATE, the public half of the pair. Change {name}."
                ),
            ));
            None
        }
    }
}

fn check_role(seed: &Declared, issues: &mut Vec<Issue>) {
    let joins = match &seed.machine.role {
        Given::Unknown => return,
        Given::Absent => false,
        Given::Known(role) if role == "join" => true,
        Given::Known(role) if role == "bootstrap" => false,
        // It is refused already, and says nothing about the certificate.
        Given::Known(_) => return,
    };
    match (&seed.joiner_certificate, joins) {
        (Given::Absent, true) => issues.push(missing(
            &["joiner_certificate"],
            "joiner certificate",
            "the certificate of whoever joins the machine, in PEM form, because the machine's role is \"join\".",
        )),
        (Given::Known(_), false) => issues.push(Issue::new(
            at(&["joiner_certificate"]),
            "A machine that joins nothing trusts a joiner",
            "The machine's role is not \"join\", and only such a machine may trust the joiner's certificate. Remove \
             joiner_certificate, or write each.value.role == \"join\" ? … : null.",
        )),
        _ => {}
    }
}
