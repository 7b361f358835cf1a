//! The outlook: what a careful operator wants to know of a plan as a whole, and no single member shows.
//!
//! Before: Reads say which members there are, plans say which come and go. After: warnings, each once in a plan. Nothing
//! of a plan's values depends on it, so plans stay pure; and nothing is asked here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tfplugin::{Diagnostic, Plan};

use super::model::name;
use super::private;

/// So many things OpenTofu changes at a time, unless `-parallelism` says otherwise.
const PARALLELISM: usize = 10;

/// What is known of all members of a provider process.
#[derive(Default)]
pub(crate) struct Outlook(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Those that there are, as Reads have seen them.
    members: BTreeSet<String>,
    /// Those that a plan makes.
    created: BTreeSet<String>,
    /// Of these, the ones that join.
    joining: BTreeSet<String>,
    /// Those that a plan removes.
    removed: BTreeSet<String>,
    /// What was said already.
    told: BTreeSet<&'static str>,
}

impl Outlook {
    /// Another run of OpenTofu begins.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// These are the members.
    pub(super) fn saw<'a>(&self, members: impl Iterator<Item = &'a String>) {
        self.known().members = members.cloned().collect();
    }

    /// What is to be said about a plan, beside what it says itself.
    pub(super) fn warnings(&self, plan: &Plan<'_>) -> Vec<Diagnostic> {
        let mut known = self.known();
        if known.members.is_empty() {
            // A walk that only destroys reads nothing.
            known.members.extend(private::members(&plan.private));
        }
        let mut warnings = Vec::new();
        if plan.is_create() {
            let name = name(&plan.planned).to_owned();
            if plan.planned.attr("role").as_str() != Some("bootstrap") {
                known.joining.insert(name.clone());
            }
            known.created.insert(name.clone());
            warnings.extend(known.once("awaited", || awaited(plan)));
            if known.joining.len() > PARALLELISM {
                warnings.extend(known.once("many", many));
            }
        } else if plan.is_destroy() {
            known.removed.insert(name(plan.prior).to_owned());
        }
        if !plan.is_update() && known.leaves_two() {
            warnings.extend(known.once("two", || two(&change(plan))));
        }
        warnings
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Of a fleet that is only being made nothing is known before the last member is planned.
    fn leaves_two(&self) -> bool {
        let after = self.members.union(&self.created);
        let after = after.filter(|name| !self.removed.contains(*name));
        !self.members.is_empty() && after.count() == 2
    }

    fn once(&mut self, what: &'static str, say: impl FnOnce() -> Diagnostic) -> Option<Diagnostic> {
        self.told.insert(what).then(say)
    }
}

fn change(plan: &Plan<'_>) -> String {
    match plan.is_destroy() {
        true => format!("Without {}", name(plan.prior)),
        false => format!("With {}", name(&plan.planned)),
    }
}

/// OpenTofu asks for one plan after the other, so the others cannot be listed here; the plan itself lists them.
fn awaited(plan: &Plan<'_>) -> Diagnostic {
    Diagnostic::warning("The apply waits for the machine of each member that is created").detail(format!(
        "The first is {}, and the plan shows the others. What is not installed yet is waited for until `timeouts.create` is \
         over, which is 1h if unset: write each seed to a medium (`homelabctl image write`) as soon as its `homelab_seed` \
         is there, and start the machine from it. To do that in a second step instead, leave the members out of the first: \
         `tofu apply -exclude=homelab_cluster_member.NAME`, and `tofu apply` when the machines are up.",
        name(&plan.planned)
    ))
}

fn many() -> Diagnostic {
    Diagnostic::warning(format!("More than {PARALLELISM} machines join in one apply")).detail(format!(
        "OpenTofu changes {PARALLELISM} things at a time, and a machine that waits to join is one of them. If the bootstrap \
         member is made in the same apply and comes behind them, they wait for it and it for them. Add \
         `-parallelism=N` with N above the number of members."
    ))
}

fn two(change: &str) -> Diagnostic {
    Diagnostic::warning(format!("{change} the cluster has two members, and bears the loss of neither")).detail(
        "Unless more of them come or go in this plan, of two members only one has a vote, and when that one fails nothing \
         can be decided on the other. Expected one member, or three and more.",
    )
}

#[cfg(test)]
mod tests {
    use tfplugin::{Diagnostics, Value};

    use super::*;

    fn member(name: &str, role: &str) -> Value {
        Value::object([("name", name.into()), ("role", role.into())])
    }

    fn plan<'a>(prior: &'a Value, config: &'a Value) -> Plan<'a> {
        Plan {
            config,
            prior,
            planned: config.clone(),
            private: Vec::new(),
            requires_replace: Vec::new(),
            diagnostics: Diagnostics::new(),
        }
    }

    /// The first words of what is said while these members come and go.
    fn said(there: &[&str], created: &[&str], removed: &[&str]) -> Vec<String> {
        let outlook = Outlook::default();
        outlook.saw(
            there
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
                .iter(),
        );
        let created = created
            .iter()
            .map(|name| (Value::Null, member(name, "join")));
        let removed = removed
            .iter()
            .map(|name| (member(name, "join"), Value::Null));
        let warnings = created
            .chain(removed)
            .flat_map(|(prior, config)| outlook.warnings(&plan(&prior, &config)));
        warnings
            .map(|one| one.summary.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect()
    }

    /// HO-CLUS-03.
    #[test]
    fn two_members_are_warned_of_once() {
        let none: [&str; 0] = [];
        assert_eq!(said(&["a", "b", "c"], &[], &["c"]), ["Without c"]);
        assert_eq!(said(&["a", "b", "c"], &[], &["c", "b"]), ["Without c"]);
        assert_eq!(said(&["a", "b", "c", "d"], &[], &["d"]), none);
        assert_eq!(said(&["a"], &["b"], &[]), ["The apply", "With b"]);
        assert_eq!(said(&["a", "b"], &["c"], &[]), ["The apply"]);
    }

    #[test]
    fn a_fleet_that_is_made_at_once_is_told_what_is_awaited() {
        let names: Vec<String> = (0..12).map(|number| format!("m{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(said(&[], &names[..10], &[]), ["The apply"]);
        assert_eq!(said(&[], &names, &[]), ["The apply", "More than"]);
    }

    /// `tofu destroy` asks for plans in a process that has read nothing.
    #[test]
    fn the_others_are_remembered_where_nothing_is_read() {
        let prior = member("c", "join");
        let mut plan = plan(&prior, &Value::Null);
        plan.private = br#"{"members":["a","b","c"]}"#.to_vec();
        let warnings = Outlook::default().warnings(&plan);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn another_run_is_told_again() {
        let outlook = Outlook::default();
        let config = member("b", "bootstrap");
        let plan = plan(&Value::Null, &config);
        assert_eq!(outlook.warnings(&plan).len(), 1);
        assert_eq!(outlook.warnings(&plan).len(), 0);
        outlook.forget();
        assert_eq!(outlook.warnings(&plan).len(), 1);
    }
}
