//! The functions, one file each, all in the same order: signature, call, tests. They know nothing but their arguments,
//! so they work without a configured provider and without a cluster.
//!
//! Before: `tfplugin` decoded the arguments by the signature. After: `domain` computes; what is wrong becomes an error at
//! the argument. Not here: any rule.

mod assign_addresses;
mod decode_join_token;
mod normalize_mac;
mod validate_fleet;
mod workload_name;

use std::sync::Arc;

use tfplugin::Function;

/// All of them, as `Provider::functions` registers them.
pub(crate) fn all() -> Vec<(&'static str, Arc<dyn Function>)> {
    vec![
        (
            "assign_addresses",
            Arc::new(assign_addresses::AssignAddresses),
        ),
        (
            "decode_join_token",
            Arc::new(decode_join_token::DecodeJoinToken),
        ),
        ("normalize_mac", Arc::new(normalize_mac::NormalizeMac)),
        ("validate_fleet", Arc::new(validate_fleet::ValidateFleet)),
        ("workload_name", Arc::new(workload_name::WorkloadName)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_sound_and_everything_is_described() {
        for (name, function) in all() {
            let signature = function.signature();
            assert_eq!(signature.check(), [], "{name}");
            let parameters = signature.parameters.iter().chain(&signature.variadic);
            let texts = parameters.map(|parameter| &parameter.description);
            for text in texts.chain([&signature.summary, &signature.description]) {
                assert!(
                    text.ends_with('.') || text.ends_with("```"),
                    "{name}: {text}"
                );
            }
            assert!(
                signature
                    .description
                    .contains(&format!("provider::homelab::{name}(")),
                "{name} has no example"
            );
        }
    }
}
