//! Seeds as a whole, through the public interface: what is rendered, what is refused, and what holds for all of them.

#[path = "seed/accepted.rs"]
mod accepted;
#[path = "seed/accepted_network.rs"]
mod accepted_network;
#[path = "seed/fixtures.rs"]
mod fixtures;
#[path = "seed/golden.rs"]
mod golden;
#[path = "seed/invariants.rs"]
mod invariants;
#[path = "seed/properties.rs"]
mod properties;
#[path = "seed/refused.rs"]
mod refused;
#[path = "seed/refused_files.rs"]
mod refused_files;
#[path = "seed/refused_networks.rs"]
mod refused_networks;
#[path = "seed/refused_updates.rs"]
mod refused_updates;
#[path = "seed/secrets.rs"]
mod secrets;
#[path = "seed/unknown.rs"]
mod unknown;
