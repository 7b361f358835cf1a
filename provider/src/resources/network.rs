//! `homelab_network`: the address plan of one network.
//!
//! Before: `tfplugin` decoded what OpenTofu sent. After: `domain::network` decides the addresses, and
//! `diagnose.rs` shows what is wrong. Nothing outside of the state changes, so create, read, update and delete only
//! answer; the record of who holds which address is the state itself.
//! Not here: any rule about addresses (`domain/src/network/`).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use async_trait::async_trait;
use domain::network::{self, Assignments, Config, Held};
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest,
    Imported, Path, Plan, ReadRequest, ReadState, Resource, Schema, Type, UpdateRequest, Value,
};

use crate::diagnose;
use crate::given::{given, list, text, texts};

// Model.

/// The resource `homelab_network`.
#[derive(Debug)]
pub(crate) struct Network;

/// An attribute as `domain` sees it: absent, unknown, or what `read` makes of its value.
fn model(config: &Value) -> Config {
    Config {
        name: text(config.attr("name")),
        kind: text(config.attr("kind")),
        cidr: text(config.attr("cidr")),
        gateway: text(config.attr("gateway")),
        dns: given(config.attr("dns"), list),
        static_range: text(config.attr("static_range")),
        claims: given(config.attr("claims"), texts),
    }
}

/// The addresses that machines hold by the prior state. What cannot be read is an error rather than a machine
/// that holds nothing: it would be moved.
fn held(prior: &Value) -> Result<Held, Diagnostics> {
    let mut held = Held::new();
    let mut diagnostics = Diagnostics::new();
    let assignments = prior.attr("assignments").as_map();
    for (machine, address) in assignments.into_iter().flatten() {
        let Some(address) = address.as_str() else {
            // Null is what is left of an address that was never decided.
            continue;
        };
        match address.parse::<Ipv4Addr>() {
            Ok(address) => {
                held.insert(machine.clone(), address);
            }
            Err(_) => diagnostics.push(
                Diagnostic::error(format!("The state has no address for machine {machine:?}"))
                    .detail(format!(
                        "The state has {address:?} as the address of machine {machine:?}. Expected an IPv4 \
                         address. Restore the state from a backup, or correct this value in it."
                    ))
                    .at(Path::new("assignments").key(machine)),
            ),
        }
    }
    if diagnostics.is_empty() {
        Ok(held)
    } else {
        Err(diagnostics)
    }
}

/// Puts the decided addresses into the plan; what depends on unknown inputs is unknown.
fn show(plan: &mut Plan<'_>, assignments: Assignments) {
    let known = |value: Option<Value>| value.unwrap_or(Value::Unknown);
    let address = |(machine, address): (String, Option<Ipv4Addr>)| {
        let address = known(address.map(|address| Value::from(address.to_string())));
        (machine, address)
    };
    let addresses = assignments.addresses.map(|addresses| {
        let addresses: BTreeMap<String, Value> = addresses.into_iter().map(address).collect();
        Value::Map(addresses)
    });
    let prefix_length = assignments.prefix_length.map(u64::from).map(Value::from);
    plan.set("assignments", known(addresses));
    plan.set("prefix_length", known(prefix_length));
    plan.set("free", known(assignments.free.map(Value::from)));
}

#[async_trait]
impl Resource for Network {
    // Schema.

    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Manages the address plan of a network: which machine has which IPv4 address. It works offline, and \
             the plan shows the final addresses.\n\n\
             Pins come first, then machines in ascending order of their names take the lowest free address. A \
             machine keeps its address as long as it claims one, whoever else comes and goes; only a pin of its \
             own moves it. The record of these addresses is the state: keep a backup of it.",
        )
        .attributes([
            Attribute::string("name").required().replace().describe(
                "The name of the network: a hostname label of at most 48 characters. A change replaces the network and \
                 gives every machine a new address.",
            ),
            Attribute::string("kind").optional().describe(
                "`lan` (the default) or `overlay`. A LAN needs `cidr`, `gateway`, `dns` and `static_range` together. \
                 An overlay takes `cidr` and `claims` only: its first address is the hub's, its last usable one is \
                 reserved.",
            ),
            Attribute::string("cidr").optional().describe(
                "The IPv4 network, such as `192.168.1.0/24`, with a prefix length from 8 to 30 and no host bits.",
            ),
            Attribute::string("gateway").optional().describe(
                "The router's address inside of `cidr`. No machine gets it.",
            ),
            Attribute::list("dns", Type::String).optional().describe(
                "The addresses of the resolvers. One of them inside of `static_range` is given to a machine only by \
                 a pin.",
            ),
            Attribute::string("static_range").optional().describe(
                "The addresses that the DHCP server of the LAN leaves alone, `first-last`, such as \
                 `192.168.1.210-192.168.1.239`. Machines get their addresses from it. A change that leaves out an \
                 address in use is refused, with the machines that hold such addresses.",
            ),
            Attribute::map("claims", Type::String).optional().describe(
                "Machine → the address that it is pinned to, or null for the next free one. Renaming a key is a new \
                 machine with a new address: pin the new key to the old address in the same change to keep it.",
            ),
            Attribute::map("assignments", Type::String)
                .computed()
                .describe("Machine → address, for every machine in `claims`."),
            Attribute::number("prefix_length")
                .computed()
                .describe("The prefix length of `cidr`, 24 in `192.168.1.0/24`."),
            Attribute::number("free")
                .computed()
                .describe("How many more machines can be given an address."),
        ])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(diagnose::issues(&network::check(&model(config))));
    }

    // Plan.

    fn plan(&self, plan: &mut Plan<'_>) {
        if plan.is_destroy() {
            return;
        }
        // Another name is another network: nobody holds an address in it yet. The plan is asked for once more
        // without a prior state, and must not be refused before that for addresses that are given up anyway.
        let replaced = plan.attr_changed("name");
        let held = if replaced {
            Ok(Held::new())
        } else {
            held(plan.prior)
        };
        match held.and_then(|held| {
            network::plan(&model(plan.config), &held).map_err(|issues| diagnose::issues(&issues))
        }) {
            Ok(assignments) => show(plan, assignments),
            Err(diagnostics) => plan.diagnostics.extend(diagnostics),
        }
    }

    // Create.

    async fn create(&self, request: CreateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned).private(request.private)
    }

    // Read.

    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        }
    }

    // Update.

    async fn update(&self, request: UpdateRequest, _call: &Call) -> Applied {
        Applied::new(request.planned).private(request.private)
    }

    // Delete.

    async fn delete(&self, _request: DeleteRequest, _call: &Call) -> Applied {
        Applied::new(Value::Null)
    }

    // Import.

    /// Refused (case 7): an import knows no addresses, and the next plan would renumber machines that run.
    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        let refusal =
            Diagnostic::error(format!("The network {:?} cannot be imported", request.id)).detail(
                "A network exists in the state only, so there is nothing to read the addresses from. Expected: the \
                 addresses as pins. Write each machine with the address it has into claims, as in \
                 claims = { node-a = \"192.168.1.210\" }, and apply: the plan shows the same addresses. The pins can \
                 be set to null afterwards, the machines keep their addresses.",
            );
        Imported {
            state: Value::Null,
            private: Vec::new(),
            diagnostics: refusal.into(),
        }
    }
}

// Tests.

#[cfg(test)]
mod tests {
    use super::*;

    fn claims<const N: usize>(claims: [(&str, Value); N]) -> Value {
        let owned = claims.map(|(machine, pin)| (machine.to_owned(), pin));
        Value::Map(BTreeMap::from(owned))
    }

    fn lan(claims: Value) -> Value {
        Value::object([
            ("name", "lan".into()),
            ("kind", Value::Null),
            ("cidr", "10.0.0.0/24".into()),
            ("gateway", "10.0.0.1".into()),
            ("dns", Value::List(vec!["10.0.0.1".into()])),
            ("static_range", "10.0.0.10-10.0.0.14".into()),
            ("claims", claims),
            ("assignments", Value::Null),
            ("prefix_length", Value::Null),
            ("free", Value::Null),
        ])
    }

    fn changed(config: &Value, name: &str, value: impl Into<Value>) -> Value {
        let mut config = config.clone();
        config.set_attr(name, value);
        config
    }

    /// What stands in the plan after the resource saw it, as the schema's rules hand it over: computed attributes
    /// are unknown when something changed.
    fn planned(config: &Value, prior: &Value) -> Result<Value, Diagnostics> {
        let mut proposed = config.clone();
        for name in ["assignments", "prefix_length", "free"] {
            proposed.set_attr(name, prior.attr(name).clone());
        }
        if &proposed != prior {
            for name in ["assignments", "prefix_length", "free"] {
                proposed.set_attr(name, Value::Unknown);
            }
        }
        let mut plan = Plan {
            config,
            prior,
            planned: proposed,
            private: Vec::new(),
            requires_replace: Vec::new(),
            diagnostics: Diagnostics::new(),
        };
        Network.plan(&mut plan);
        if plan.diagnostics.is_empty() {
            Ok(plan.planned)
        } else {
            Err(plan.diagnostics)
        }
    }

    /// HO-IPAM-03, HO-CFG-16: the plan shows the final addresses, and the next one is empty.
    #[test]
    fn the_plan_shows_final_addresses_and_the_next_one_is_empty() {
        let config = lan(claims([("a", Value::Null), ("b", "10.0.0.10".into())]));
        let first = planned(&config, &Value::Null).expect("the configuration is valid");
        let addresses = claims([("a", "10.0.0.11".into()), ("b", "10.0.0.10".into())]);
        assert_eq!(first.attr("assignments"), &addresses);
        assert_eq!(first.attr("prefix_length"), &Value::from(24_u64));
        assert_eq!(first.attr("free"), &Value::from(3_u64));
        assert!(first.is_wholly_known());
        assert!(
            first.attr("kind").is_null(),
            "defaults are not written back"
        );
        assert_eq!(planned(&config, &first), Ok(first));
    }

    /// HO-IPAM-04: other machines come and go, and nobody moves.
    #[test]
    fn other_machines_move_nobody() {
        let config = lan(claims([("b", Value::Null), ("c", Value::Null)]));
        let first = planned(&config, &Value::Null).expect("the configuration is valid");
        let config = lan(claims([("a", Value::Null), ("c", Value::Null)]));
        let second = planned(&config, &first).expect("the configuration is valid");
        let addresses = claims([("a", "10.0.0.10".into()), ("c", "10.0.0.11".into())]);
        assert_eq!(second.attr("assignments"), &addresses);
    }

    /// Case 7: unknown inputs make unknown only what depends on them.
    #[test]
    fn unknown_inputs_are_tolerated() {
        let config = lan(claims([("b", Value::Null)]));
        let first = planned(&config, &Value::Null).expect("the configuration is valid");
        let config = lan(claims([
            ("a", Value::Unknown),
            ("b", Value::Null),
            ("c", Value::Null),
        ]));
        let second = planned(&config, &first).expect("unknown is not wrong");
        let addresses = claims([
            ("a", Value::Unknown),
            ("b", "10.0.0.10".into()),
            ("c", Value::Unknown),
        ]);
        assert_eq!(second.attr("assignments"), &addresses);
        assert_eq!(second.attr("prefix_length"), &Value::from(24_u64));
        for name in [
            "name",
            "kind",
            "cidr",
            "gateway",
            "dns",
            "static_range",
            "claims",
        ] {
            let config = changed(&config, name, Value::Unknown);
            planned(&config, &first).expect(name);
            let mut diagnostics = Diagnostics::new();
            Network.validate(&config, &mut diagnostics);
            assert_eq!(diagnostics, Diagnostics::new(), "{name}");
        }
    }

    /// HO-CFG-10: validation reports everything that needs no state, each at its attribute.
    #[test]
    fn validation_reports_all_issues_at_their_paths() {
        let config = lan(claims([("a", "10.0.0.1".into()), ("B", Value::Null)]));
        let config = changed(&config, "cidr", "10.0.0.3/24");
        let mut diagnostics = Diagnostics::new();
        Network.validate(&config, &mut diagnostics);
        let paths: Vec<String> = diagnostics
            .iter()
            .filter_map(|diagnostic| Some(diagnostic.path.as_ref()?.to_string()))
            .collect();
        assert_eq!(paths, ["cidr", "claims[\"B\"]", "claims[\"a\"]"]);
    }

    /// HO-IPAM-07: what collides with the state is the plan's to refuse.
    #[test]
    fn a_pin_on_a_held_address_is_refused_by_the_plan() {
        let first = planned(&lan(claims([("b", Value::Null)])), &Value::Null).expect("valid");
        let config = lan(claims([("a", "10.0.0.10".into()), ("b", Value::Null)]));
        let mut diagnostics = Diagnostics::new();
        Network.validate(&config, &mut diagnostics);
        assert!(diagnostics.is_empty());
        let refused = planned(&config, &first).expect_err("machine b holds the address");
        let diagnostic = refused.iter().next().expect("a refusal has a diagnostic");
        assert_eq!(diagnostic.path, Some(Path::new("claims").key("a")));
        assert!(diagnostic.summary.contains("machine \"b\""));
    }

    /// docs/decisions/0001: the way out that the refusal names is open.
    #[test]
    fn another_name_gives_new_addresses() {
        let first = planned(&lan(claims([("b", Value::Null)])), &Value::Null).expect("valid");
        let moved = changed(
            &lan(claims([("b", Value::Null)])),
            "static_range",
            "10.0.0.20-10.0.0.29",
        );
        planned(&moved, &first).expect_err("machine b holds an address outside");
        let renamed = changed(&moved, "name", "lan2");
        let replaced = planned(&renamed, &first).expect("another network");
        let addresses = claims([("b", "10.0.0.20".into())]);
        assert_eq!(replaced.attr("assignments"), &addresses);
    }

    #[test]
    fn a_state_that_cannot_be_read_moves_nobody() {
        let config = lan(claims([("a", Value::Null)]));
        let prior = changed(&config, "assignments", claims([("a", "10.0.0.".into())]));
        let refused = planned(&config, &prior).expect_err("the address cannot be read");
        let diagnostic = refused.iter().next().expect("a refusal has a diagnostic");
        assert_eq!(diagnostic.path, Some(Path::new("assignments").key("a")));
    }

    #[test]
    fn a_destroy_plan_never_fails() {
        let prior = changed(
            &lan(Value::Null),
            "assignments",
            claims([("a", "x".into())]),
        );
        let mut plan = Plan {
            config: &Value::Null,
            prior: &prior,
            planned: Value::Null,
            private: Vec::new(),
            requires_replace: Vec::new(),
            diagnostics: Diagnostics::new(),
        };
        Network.plan(&mut plan);
        assert!(plan.planned.is_null() && plan.diagnostics.is_empty());
    }

    #[test]
    fn the_schema_is_consistent() {
        assert_eq!(Network.schema().check(), []);
    }
}
