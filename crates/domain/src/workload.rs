//! Names of workloads as users ask for them: checked, and put together as everywhere else (HO-APP-14, HO-APP-27).
//!
//! Before: an app, a generation, and the ordinal or the machine. After: the name of the Incus instance.
//! Not here: the format itself (`app::workload_name`), and what a workload is: its keys decide that, not its name.

use crate::app;
use crate::name;

/// Longest name of a per-node app and a machine together: with two hyphens, `g` and a generation of five digits they
/// make an instance name of 63 characters.
pub const APP_AND_MACHINE_LENGTH: usize = 55;

/// Why there is no such workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The app has no valid name.
    #[error(
        "The name of the app, {name:?}, {error}. Expected a hostname label of at most {limit} characters, as in the \
         `name` of the app",
        limit = name::NAME_LENGTH
    )]
    App {
        /// The name.
        name: String,
        /// Why it is none.
        error: name::Error,
    },
    /// The member of the app is neither an ordinal nor a machine.
    #[error(
        "The member of the app, {member:?}, {error}. Expected an ordinal, counted from 0, or the name of a machine: a \
         hostname label of at most {limit} characters",
        limit = name::NAME_LENGTH
    )]
    Member {
        /// What was given.
        member: String,
        /// Why it is none.
        error: name::Error,
    },
    /// Incus allows no such long name.
    #[error(
        "The name of the workload would be {name:?}, which has {length} characters, and Incus allows {limit}. Shorten \
         the name of the app",
        length = name.len(),
        limit = name::LABEL_LENGTH
    )]
    TooLong {
        /// What it would be.
        name: String,
    },
}

/// The name of the Incus instance that runs one generation of an app: `<app>-g<N>`, and with a member (an ordinal or a
/// machine) `<app>-<member>-g<N>`.
///
/// # Errors
/// The first of: a bad app, a bad member, a name that is too long.
pub fn name(app: &str, member: Option<&str>, generation: u64) -> Result<String, Error> {
    name::check_name(app).map_err(|error| Error::App {
        name: shown(app),
        error,
    })?;
    if let Some(member) = member {
        name::check_name(member).map_err(|error| Error::Member {
            member: shown(member),
            error,
        })?;
    }
    let name = app::workload_name(&stem(app, member), None, generation);
    match name::check_label(&name) {
        Ok(()) => Ok(name),
        Err(_) => Err(Error::TooLong { name }),
    }
}

/// What all generations of one member's workload have in common: the derived app of HO-APP-14 and its like for
/// ordinals. Two members with one stem are after the same names.
pub(crate) fn stem(app: &str, member: Option<&str>) -> String {
    match member {
        None => app.to_owned(),
        Some(member) => format!("{app}-{member}"),
    }
}

/// The start of a text that may be anything.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(app: &str, member: Option<&str>, generation: u64) -> String {
        name(app, member, generation).unwrap_or_else(|error| error.to_string())
    }

    /// HO-APP-14, HO-APP-27: the examples of the requirements are among them.
    #[test]
    fn names_are_those_of_the_rollout() {
        for (app, member, generation, expected) in [
            ("web", None, 0, "web-g0"),
            ("web", None, 17, "web-g17"),
            ("pg", Some("1"), 0, "pg-1-g0"),
            ("agent", Some("node0"), 0, "agent-node0-g0"),
            (
                "web",
                Some("998"),
                u64::MAX,
                "web-998-g18446744073709551615",
            ),
        ] {
            assert_eq!(told(app, member, generation), expected);
        }
    }

    #[test]
    fn a_refusal_says_what_was_seen_expected_and_to_do() {
        let long = "a".repeat(49);
        let (app, machine) = ("a".repeat(48), "b".repeat(48));
        for (app, member, parts) in [
            ("", None, ["the app, \"\", is empty", "hostname label"]),
            ("Web", None, ["\"Web\", contains 'W'", "hostname label"]),
            (&long, None, ["has 49 characters", "at most 48"]),
            ("web", Some(""), ["the app, \"\", is empty", "an ordinal"]),
            (
                "web",
                Some("-1"),
                ["\"-1\", starts with a hyphen", "counted from 0"],
            ),
            ("web", Some("1.5"), ["\"1.5\", contains '.'", "an ordinal"]),
            (
                &app,
                Some(&machine),
                ["has 100 characters", "Shorten the name"],
            ),
        ] {
            let told = told(app, member, 0);
            for part in parts {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }

    proptest! {
        /// One format: what a user asks for is what the rollout calls its workloads.
        #[test]
        fn ordinals_are_named_as_by_the_rollout(
            app in "[a-z][a-z0-9]{0,20}",
            ordinal in proptest::option::of(0..999_u32),
            generation in any::<u64>(),
        ) {
            let member = ordinal.map(|ordinal| ordinal.to_string());
            prop_assert_eq!(name(&app, member.as_deref(), generation), Ok(app::workload_name(&app, member.as_deref(), generation)));
        }

        /// The limit for per-node apps leaves room for a generation of five digits, and no more.
        #[test]
        fn the_limit_leaves_room_for_generations(length in 7..48_usize) {
            let (app, machine) = ("a".repeat(length), "b".repeat(APP_AND_MACHINE_LENGTH - length));
            let name = |generation| name(&app, Some(&machine), generation).is_ok();
            prop_assert!(name(99_999) && !name(100_000));
        }
    }
}
