//! `validate_fleet`: everything that is wrong between the parts of a fleet, as a list for a `check` or a precondition.
//!
//! Before: `tfplugin` decoded the argument, which may be anything. After: `validate_fleet/read.rs` reads it,
//! `domain::fleet` judges. An argument of another shape is an error of the call, not an issue of the fleet.

mod read;

use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

/// The function `validate_fleet`.
pub(crate) struct ValidateFleet;

impl Function for ValidateFleet {
    fn signature(&self) -> Signature {
        Signature::new(
            "Lists what is wrong between the networks, machines and apps of a fleet.",
            Type::list(Type::String),
        )
        .describe(
            "Lists everything that is wrong between the networks, machines and apps of a fleet, all at once; the list is \
             empty when all is well. A plan looks at one resource at a time, so without this most of it shows only when an \
             apply fails half-way. What a resource finds wrong with itself is not repeated here.\n\n\
             Found are: two networks, machines or apps of one name; two machines with one MAC address (however it is \
             spelled), or with one address in one network; no or more than one machine with the role `bootstrap`; a machine \
             whose `network` differs from the network of that name; two per-node apps of one type; apps whose workloads \
             would have the same names, such as the second replica of `web` and an app `web-1`; per-node apps whose names \
             are too long together with a machine's; a `primary` that is no machine; and two apps that listen on one port \
             of the host (`proxy` devices) and can meet on one member.\n\n\
             Unknown values are passed over. As long as nothing is found and something that matters is unknown, or it is not \
             known what there is, the result is unknown too, and OpenTofu asks again in the apply.\n\n\
             ```terraform\n\
             locals {\n  \
               issues = provider::homelab::validate_fleet({\n    \
                 networks = [homelab_network.lan, homelab_network.overlay]\n    \
                 machines = homelab_instance.node\n    \
                 apps     = { web = homelab_app.web }\n  \
               })\n\
             }\n\n\
             check \"fleet\" {\n  \
               assert {\n    \
                 condition     = length(local.issues) == 0\n    \
                 error_message = join(\"\\n\", local.issues)\n  \
               }\n\
             }\n\
             ```\n\n\
             A `check` only warns. To stop the plan, put the same condition into a `precondition`, for instance of an \
             `output`.",
        )
        .parameter(
            Parameter::new(
                "fleet",
                Type::Dynamic,
                "An object of `networks`, `machines` and `apps`; each may be left out, and each is a map or a list of whole \
                 resources (`homelab_network`, `homelab_instance`, `homelab_app`) or of objects with the same attributes. Of \
                 a network count `name`, `cidr` and `gateway`; of a machine `name`, `mac`, `role`, `address` and `network`; \
                 of an app `name`, `type`, `replicas`, `primary`, `placement.group` and `workload.devices`. An object \
                 without `name` is called by its key.",
            )
            .allow_unknown(),
        )
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let fleet = arguments.first().unwrap_or(&Value::Null);
        let fleet = read::fleet(fleet).map_err(|faults| FunctionError::at(0, faults.join("\n")))?;
        let verdict = domain::fleet::check(&fleet);
        if !verdict.listed || verdict.issues.is_empty() && !verdict.complete {
            return Ok(Value::Unknown);
        }
        let issues = verdict.issues.iter().map(ToString::to_string);
        Ok(Value::List(issues.map(Value::from).collect()))
    }
}

#[cfg(test)]
mod tests;
