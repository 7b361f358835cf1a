//! Diagnostics about members: why a machine is none yet, why a member is not as declared, and why one stays.
//!
//! Before: `domain::membership` refused, `reconcile` failed, or time was over. After: OpenTofu shows them. The sentences of
//! `domain` say what was seen and what to do; here stands what to do with OpenTofu.

use domain::duration;
use domain::membership::removal;
use reconcile::error::Error;
use tfplugin::Diagnostic;

use super::{capitalised, connection, sentence, told};
use crate::resources::Trouble;

/// A change of a member did not come to its end.
pub(crate) fn member(doing: &str, name: &str, trouble: &Trouble) -> Diagnostic {
    match trouble {
        Trouble::Stopped { awaited } => stopped(doing, name, awaited),
        Trouble::Failed(error @ Error::OtherOwner { .. }) => other_owner(doing, name, error),
        Trouble::Failed(error) => unread_member(doing, name, error),
        Trouble::Refused(refusal) => {
            Diagnostic::error(format!("{doing} member {name} was refused"))
                .detail(sentence(capitalised(&refusal.to_string()), None))
        }
        Trouble::Stays(refusal) => stays(name, refusal),
        Trouble::NoCluster => no_cluster(name),
        Trouble::TimedOut { limit, awaited } => {
            Diagnostic::error(format!("{doing} member {name} took too long")).detail(format!(
                "After {} it had not come to its end: {awaited}.\n\n{}",
                duration::format(*limit),
                "What was reached is kept, and the next apply goes on from there. To allow more time, raise the limit in \
                 `timeouts`."
            ))
        }
    }
}

fn stopped(doing: &str, name: &str, awaited: &str) -> Diagnostic {
    Diagnostic::error(format!("{doing} member {name} was stopped")).detail(format!(
        "Where it was: {awaited}.\n\nWhat was reached is kept. Apply again to go on from there."
    ))
}

/// What `on_destroy` allows counts only once it was applied, which nobody would guess.
fn stays(name: &str, refusal: &removal::Refusal) -> Diagnostic {
    let reason = sentence(capitalised(&refusal.to_string()), None);
    let detail = match reason.contains("on_destroy") {
        true => format!(
            "{reason}\n\nWhat on_destroy allows counts as it was last applied: put the member back into the configuration if \
             it is not there, set on_destroy, run `tofu apply`, and remove the member after that. Nothing was lost."
        ),
        false => format!("{reason}\n\nNothing was lost. Remove the member again after that."),
    };
    Diagnostic::error(format!("Member {name} was not removed")).detail(detail)
}

/// A request about a member failed.
pub(crate) fn unread_member(doing: &str, name: &str, error: &Error) -> Diagnostic {
    let hint = match error {
        Error::Incus(error) => connection::hint(error),
        Error::BootstrapFailed { .. } => Some(
            "See the error of the bootstrap member. Apply again when its cause is gone; what was reached is kept."
                .to_owned(),
        ),
        Error::Overtaken { .. } => Some(
            "Two applies of one member ran at the same time. Make sure that they share one state with locking, then apply \
             again. If only one ran, two resources declare this name: remove one of them."
                .to_owned(),
        ),
        _ => None,
    };
    Diagnostic::error(format!("{doing} member {name} failed")).detail(match hint {
        Some(hint) => format!("{}\n\n{hint}", told(error)),
        None => told(error),
    })
}

/// A finished entry of somebody else's is left alone, and so is the member. What is in the state OpenTofu does not import.
fn other_owner(doing: &str, name: &str, error: &Error) -> Diagnostic {
    let (replacing, forget) = match doing {
        "Creating" => (
            "If this was to replace it, remove create_before_destroy from its `lifecycle`, which does not work for members: one \
             has to leave before it can be made again. Or the same name is declared twice; then remove one of the two. ",
            "",
        ),
        _ => ("", "  tofu state rm ADDRESS\n"),
    };
    Diagnostic::error(format!("Member {name} exists already and belongs to another configuration")).detail(format!(
        "{} It was left alone. {replacing}Remove it from this configuration; or, if this configuration is to take the \
         member over, import it (with the address of this resource in place of ADDRESS) and apply again:\n\n\
         {forget}  tofu import ADDRESS {name}",
        told(error)
    ))
}

/// A machine has become a member, and an app that runs once on each machine did not get there.
pub(crate) fn not_brought(app: &str, member: &str, error: &Error) -> Diagnostic {
    Diagnostic::warning(format!("App {app} is not on member {member} yet")).detail(format!(
        "The machine is a member, and the app is to have a workload on every member. {} The next plan of the app shows what is \
         left to do.",
        super::seen(error)
    ))
}

/// A machine has become a member, and nobody could tell which apps it is to have.
pub(crate) fn nothing_brought(member: &str, error: &Error) -> Diagnostic {
    Diagnostic::warning(format!(
        "Member {member} has not got the workloads that every member has"
    ))
    .detail(format!(
        "{} The next plans of the apps show what is left to do.",
        told(error)
    ))
}

/// Somebody else has published what is wanted of a member that is in this state.
pub(crate) fn foreign_member(name: &str) -> Diagnostic {
    Diagnostic::warning(format!("Member {name} belongs to another configuration")).detail(format!(
        "Its entry in the fleet store has another owner: it was made again, or taken over. This configuration can neither change \
         nor remove it: remove it from this state and from the configuration; or, if this configuration is to take the member \
         over, import it after that (with the address of this resource in place of ADDRESS):\n\n  tofu state rm ADDRESS\n  \
         tofu import ADDRESS {name}"
    ))
}

/// A removal has touched nothing, because the member is somebody else's by now.
pub(crate) fn forgotten_member(name: &str) -> Diagnostic {
    Diagnostic::warning(format!(
        "Member {name} was not removed, because it belongs to another configuration"
    ))
    .detail("It was made again or taken over since this state was written. It is forgotten here and left alone there.")
}

/// Nobody answers who is in a cluster. A machine that was installed anew must not make its cluster look deleted.
pub(crate) fn no_cluster(name: &str) -> Diagnostic {
    Diagnostic::error(format!("Member {name} was not found, because no cluster answers")).detail(
        "None of the provider's endpoints leads to a server that is in a cluster. Expected at least one member of the \
         cluster. If the cluster does not exist any more, remove its members from the state: `tofu state rm`.",
    )
}

/// A member is not where it was looked for, and nobody has said which of several clusters is meant.
pub(crate) fn member_nowhere(name: &str) -> Diagnostic {
    Diagnostic::error(format!("Member {name} was not found, and may be in another cluster")).detail(
        "The cluster of the server that answered first does not list it, the provider has several endpoints, and what was \
         known about the member's cluster is lost. Expected `server_fingerprints` in the provider block, so that only the \
         right cluster is asked. If the member is really gone, remove it from the state: `tofu state rm`.",
    )
}

/// A machine became a member, and its creation came no further: nothing else would say so before the next plan.
pub(crate) fn incomplete(name: &str, missing: &[String]) -> Option<Diagnostic> {
    (!missing.is_empty()).then(|| {
        Diagnostic::warning(format!("Member {name} has joined, and is not complete yet")).detail(
            format!(
                "It still lacks: {}. What was reached is kept. Apply again to go on from there.",
                missing.join(", ")
            ),
        )
    })
}

/// Everything that could be done was done, and it was not enough.
pub(crate) fn still_missing(name: &str, missing: &[String]) -> Diagnostic {
    Diagnostic::error(format!("Member {name} is not as declared")).detail(format!(
        "It still lacks: {}. Nothing that could be done from here repairs that: a pool that has another driver, or that other \
         members have and this one does not, has to be made or removed on the cluster by hand. Correct it there, or declare \
         what is there, and apply again.",
        missing.join(", ")
    ))
}

/// What stays true after a removal.
pub(crate) fn left_behind(name: &str, warning: &removal::Warning) -> Diagnostic {
    let summary = match warning {
        removal::Warning::LastMember { .. } => {
            format!("Member {name} was forgotten and not removed, because it is the last one")
        }
        removal::Warning::Alive { .. } => format!("Member {name} was removed and is still alive"),
        removal::Warning::Untold { .. } => {
            format!("Member {name} was removed and does not know it")
        }
    };
    Diagnostic::warning(summary).detail(sentence(capitalised(&warning.to_string()), None))
}

/// HO-CLUS-03.
pub(crate) fn two_members(one: &str, other: &str) -> Diagnostic {
    Diagnostic::warning("The cluster has two members, and bears the loss of neither").detail(format!(
        "Of {one} and {other} only one has a vote, and when that one fails nothing can be decided on the other. Expected \
         one member, or three and more."
    ))
}

/// A member keeps its last known values while it does not answer.
pub(crate) fn silent_member(name: &str, is_offline: bool) -> Diagnostic {
    match is_offline {
        true => Diagnostic::warning(format!("Member {name} is offline")).detail(
            "It is shown as it was last seen. Check the machine. If it will not come back, apply \
             on_destroy = { force = true } for it and remove it then; what is on it is lost.",
        ),
        false => Diagnostic::warning(format!("Member {name} does not answer")).detail(
            "It is shown as it was last seen. Incus will say within seconds whether it is offline; plan again then.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn foreign(doing: &str) -> String {
        let of = "b".to_owned();
        member(
            doing,
            "b",
            &Trouble::Failed(Error::OtherOwner { member: of }),
        )
        .detail
    }

    fn detail(trouble: &Trouble) -> String {
        member("Removing", "b", trouble).detail
    }

    /// HO-CLUS-08: whoever reads that on_destroy is needed learns that it has to be applied first.
    #[test]
    fn a_member_that_stays_says_what_to_do() {
        let on_it = Trouble::Stays(removal::Refusal::Instances(vec!["web-g0".to_owned()]));
        assert!(detail(&on_it).starts_with("It hosts web-g0: "));
        assert!(detail(&on_it).contains("counts as it was last applied"));
        let primary = Trouble::Stays(removal::Refusal::Primary);
        assert!(!detail(&primary).contains("last applied"));
    }

    /// HO-CLUS-08: what a removal leaves behind is named as the danger that it is.
    #[test]
    fn a_member_that_was_not_told_is_warned_of() {
        let name = || "b".to_owned();
        for (warning, summary) in [
            (
                removal::Warning::Untold { name: name() },
                "Member b was removed and does not know it",
            ),
            (
                removal::Warning::Alive { name: name() },
                "Member b was removed and is still alive",
            ),
        ] {
            let diagnostic = left_behind("b", &warning);
            assert_eq!(diagnostic.summary, summary);
            for part in ["read and write the cluster's database", "Switch it off"] {
                let detail = &diagnostic.detail;
                assert!(detail.contains(part), "{summary}: {detail}");
            }
        }
    }

    #[test]
    fn a_member_that_is_complete_is_not_warned_of() {
        assert_eq!(incomplete("b", &[]), None);
        let lacks = ["pool local".to_owned()];
        let warning = incomplete("b", &lacks).expect("a warning");
        assert!(warning.detail.contains("It still lacks: pool local."));
    }

    /// OpenTofu refuses to import to an address that is in the state.
    #[test]
    fn another_configurations_member_is_left_alone_and_imported_after_it_left_the_state() {
        let import = "\n\n  tofu import ADDRESS b";
        let again = "\n\n  tofu state rm ADDRESS\n  tofu import ADDRESS b";
        for (told, commands) in [
            (foreign("Creating"), import),
            (foreign("Updating"), again),
            (foreign_member("b").detail, again),
        ] {
            assert!(told.ends_with(commands), "{told}");
        }
        let told = foreign("Updating");
        assert!(
            told.contains("belongs to another configuration. It was left alone."),
            "{told}"
        );
    }

    #[test]
    fn a_member_that_one_configuration_makes_twice_is_not_only_blamed_on_others() {
        let told = foreign("Creating");
        for cause in ["create_before_destroy", "declared twice"] {
            assert!(told.contains(cause), "{told}");
            assert!(!foreign("Updating").contains(cause), "{told}");
        }
        let overtaken = Error::Overtaken {
            of: "member b".to_owned(),
            ours: 1,
            newest: 2,
        };
        let told = detail(&Trouble::Failed(overtaken));
        assert!(told.contains("two resources declare this name"), "{told}");
    }

    #[test]
    fn what_was_awaited_last_is_told() {
        let awaited = "the machine does not answer: refused".to_owned();
        let limit = Duration::from_secs(3600);
        let late = Trouble::TimedOut { limit, awaited };
        let expected = "After 1h it had not come to its end: the machine does not answer: refused.";
        assert!(detail(&late).starts_with(expected), "{}", detail(&late));
    }
}
