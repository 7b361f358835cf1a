//! `homelab_instance`: a machine, checked and completed. Nothing happens outside of the state.
//!
//! Before: `tfplugin` checked the attributes' types. After: `domain::machine` judges; seeds and members take the whole
//! resource as theirs.

use async_trait::async_trait;
use domain::mac::Mac;
use domain::machine::{self, Advice, Declared, DeclaredNetwork, DeclaredSecurity};
use domain::name;
use tfplugin::{
    Applied, Attribute, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest,
    Imported, Plan, ReadRequest, ReadState, Resource, Schema, Type, UpdateRequest, Value,
};

use crate::diagnose;
use crate::given::{flag, given, list, text};

// Model.

/// The resource `homelab_instance`.
#[derive(Debug)]
pub(crate) struct Instance;

/// What is declared of a machine; a seed has the same as its `machine`.
pub(super) fn model(config: &Value) -> Declared {
    Declared {
        name: text(config.attr("name")),
        mac: text(config.attr("mac")),
        network: given(config.attr("network"), |network| DeclaredNetwork {
            name: text(network.attr("name")),
            cidr: text(network.attr("cidr")),
            gateway: text(network.attr("gateway")),
            dns: given(network.attr("dns"), list),
        }),
        address: text(config.attr("address")),
        role: text(config.attr("role")),
        os: text(config.attr("os")),
        dhcp: flag(config.attr("dhcp")),
        security: given(config.attr("security"), |security| DeclaredSecurity {
            tpm: flag(security.attr("tpm")),
            secure_boot: flag(security.attr("secure_boot")),
        }),
        install_disk: given(config.attr("install_disk"), |disk| {
            machine::disk::Declared {
                id: text(disk.attr("id")),
                bus: text(disk.attr("bus")),
                min_size: text(disk.attr("min_size")),
                max_size: text(disk.attr("max_size")),
                sort_order: text(disk.attr("sort_order")),
            }
        }),
    }
}

/// HO-CFG-03: another spelling of a MAC address is no other machine.
fn same_mac(one: &Value, other: &Value) -> bool {
    let read = |value: &Value| Mac::parse(value.as_str()?).ok();
    read(one).is_some() && read(one) == read(other)
}

#[async_trait]
impl Resource for Instance {
    // Schema.

    fn schema(&self) -> Schema {
        Schema::new(
            0,
            "Describes a machine: its network card, its address, its role in the cluster, and what IncusOS needs to know to \
             be installed on it. Nothing happens outside of the state; `homelab_seed` makes install media of it and \
             `homelab_cluster_member` a member. Both take the whole resource.",
        )
        .attributes(declared_attributes().into_iter().chain([
            Attribute::string("hostname").computed().describe("The machine's hostname."),
            Attribute::bool("clusterable").computed().describe(
                "Whether the machine can become a member at its first start: it has a role, and an address that is known \
                 beforehand.",
            ),
        ]))
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(diagnose::issues(&model(config).check()));
    }

    // Plan.

    fn plan(&self, plan: &mut Plan<'_>) {
        if plan.is_destroy() || !plan.changed() {
            return;
        }
        let machine = model(plan.config);
        plan.set("hostname", plan.config.attr("name").clone());
        let clusterable = machine.clusterable().map(Value::from);
        plan.set("clusterable", clusterable.unwrap_or(Value::Unknown));
        let name = plan
            .config
            .attr("name")
            .as_str()
            .unwrap_or("(not known yet)");
        let advice = machine.advice();
        plan.diagnostics
            .extend(advice.into_iter().map(|advice| warning(name, advice)));
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

    /// Nothing is there to be observed: the name is all that an import knows, and the next plan completes the rest.
    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        let issue = name::issue(domain::issue::attribute("name"), "machine", &request.id);
        Imported {
            state: match &issue {
                None => Value::object([("name", request.id.into())]),
                Some(_) => Value::Null,
            },
            private: Vec::new(),
            diagnostics: diagnose::issues(issue.as_slice()),
        }
    }
}

fn warning(name: &str, advice: Advice) -> Diagnostic {
    match advice {
        Advice::RoleWithoutAddress => {
            Diagnostic::warning(format!("Machine {name} has a role and no address"))
                .detail(
                    "Only a machine whose address is known beforehand becomes a member at its first start; this one will \
                     not (`clusterable` is false). Set network and address, or remove role.",
                )
                .at("role")
        }
        Advice::NoTpm => weaker_encryption(name, "TPM"),
        Advice::NoSecureBoot => weaker_encryption(name, "Secure Boot"),
    }
}

fn weaker_encryption(name: &str, lacking: &str) -> Diagnostic {
    Diagnostic::warning(format!("Machine {name} has no {lacking}"))
        .detail(format!(
            "Without {lacking} the encryption of its disk protects less: whoever has the machine may get at the key. If it \
             has one, switch it on in the firmware and remove this from security."
        ))
        .at("security")
}

/// What a user declares of a machine.
pub(super) fn declared_attributes() -> [Attribute; 9] {
    [
        Attribute::string("name").required().replace().describe(
            "The name: the machine's hostname and the member's name, a hostname label of at most 48 characters. A \
             change replaces the machine.",
        ),
        Attribute::string("mac").required().same_meaning(same_mac).describe(
            "The MAC address of the network card, in any usual spelling, such as `52:54:00:00:00:0a`, \
             `52-54-00-00-00-0A` or `5254.0000.000a`. Another spelling is no change.",
        ),
        Attribute::single("network", network_attributes()).optional().describe(
            "The network that the machine is in, usually a whole `homelab_network`. With it `address` is required.",
        ),
        Attribute::string("address").optional().describe(
            "The machine's address, usually `homelab_network.NAME.assignments[each.key]`. To choose it, pin it in the \
             `claims` of the network.",
        ),
        Attribute::string("role").optional().describe(
            "`bootstrap` for the machine that the cluster begins with, `join` for every other member. Without a role \
             the machine is in no cluster.",
        ),
        Attribute::string("os").optional().describe(
            "`incusos` (the default), or `linux` for a machine that runs Incus on a Linux of its own; nothing is \
             installed there.",
        ),
        Attribute::bool("dhcp").optional().describe(
            "Whether the machine asks for an address by DHCP; if unset, it does so when it has no `address`.",
        ),
        Attribute::single("security", security_attributes())
            .optional()
            .describe("What protects the machine's disk. Only one of the two may be missing."),
        Attribute::single("install_disk", disk_attributes()).optional().describe(
            "Which disk IncusOS is installed on; all that is given must hold. If unset, the machine must have exactly \
             one disk of 50 GiB or more.",
        ),
    ]
}

fn network_attributes() -> [Attribute; 4] {
    [
        Attribute::string("name")
            .required()
            .describe("The name of the network."),
        Attribute::string("cidr")
            .required()
            .describe("The IPv4 network, such as `192.168.1.0/24`."),
        Attribute::string("gateway")
            .optional()
            .describe("The router's address."),
        Attribute::list("dns", Type::String)
            .optional()
            .describe("The addresses of the resolvers."),
    ]
}

fn security_attributes() -> [Attribute; 2] {
    [
        Attribute::bool("tpm")
            .optional()
            .describe("Whether the machine has a TPM; true if unset."),
        Attribute::bool("secure_boot")
            .optional()
            .describe("Whether Secure Boot is on; true if unset."),
    ]
}

fn disk_attributes() -> [Attribute; 5] {
    [
        Attribute::string("id").optional().describe(
            "A part of the disk's name in `/dev/disk/by-id`. Device paths are refused: they change between starts.",
        ),
        Attribute::string("bus").optional().describe("A part of what it is connected by, such as `nvme`."),
        Attribute::string("min_size").optional().describe("At least this large, such as `100GB` or `50GiB`."),
        Attribute::string("max_size").optional().describe("At most this large."),
        Attribute::string("sort_order").optional().describe(
            "`smallest` or `largest`: which one is taken where several are left. Without it several are an error.",
        ),
    ]
}

// Tests.

#[cfg(test)]
mod tests {
    use tfplugin::testing;

    use super::*;

    fn machine(mac: &str) -> Value {
        Value::object([
            ("name", "a".into()),
            ("mac", mac.into()),
            ("role", "join".into()),
        ])
    }

    /// The plan, and the summaries of what it says.
    fn planned(config: Value, prior: Value) -> (Value, Vec<String>) {
        let plan = testing::plan(&Instance, config, prior, Vec::new()).expect("a machine");
        let said = plan
            .diagnostics
            .iter()
            .map(|one| one.summary.clone())
            .collect();
        (plan.state, said)
    }

    #[test]
    fn a_machine_is_completed_and_warned_about_once() {
        let mut config = machine("52-54-00-00-00-0A");
        config.set_attr("security", Value::object([("tpm", false.into())]));
        let (made, said) = planned(config.clone(), Value::Null);
        assert_eq!(made.attr("hostname"), &Value::from("a"));
        assert_eq!(made.attr("clusterable"), &Value::from(false));
        assert_eq!(
            said,
            [
                "Machine a has a role and no address",
                "Machine a has no TPM"
            ]
        );
        assert_eq!(planned(config, made.clone()), (made, Vec::new()));
    }

    /// HO-CFG-03.
    #[test]
    fn another_spelling_of_a_mac_address_is_no_change() {
        let (made, _) = planned(machine("52-54-00-00-00-0A"), Value::Null);
        assert_eq!(
            planned(machine("5254.0000.000a"), made.clone()),
            (made.clone(), Vec::new())
        );
        let (other, _) = planned(machine("52:54:00:00:00:0b"), made.clone());
        assert_ne!(other, made);
    }

    /// HO-IPAM-14.
    #[test]
    fn an_address_makes_a_member_possible() {
        let (before, _) = planned(machine("52:54:00:00:00:0a"), Value::Null);
        let mut config = machine("52:54:00:00:00:0a");
        config.set_attr("address", "192.168.1.210");
        let (after, said) = planned(config.clone(), before.clone());
        assert_eq!(
            (after.attr("clusterable"), said),
            (&Value::from(true), Vec::new())
        );
        config.set_attr("address", Value::Unknown);
        let (later, _) = planned(config, before);
        assert!(later.attr("clusterable").is_unknown());
    }
}
