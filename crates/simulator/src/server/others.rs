//! Instances that are none of ours: what a list holds beside what is looked for.
//!
//! Before: `state.rs` makes the server. After: `instance.rs` lists them with all others. They are as large as the lab's.

use super::instance::Instance;
use super::state::{Config, Devices, POOL, State, key};

/// Puts so many running instances on the members in turn.
pub(super) fn settle(state: &mut State, count: usize) {
    let members: Vec<String> = state
        .members
        .iter()
        .map(|one| state.place(&one.name))
        .collect();
    for (number, member) in (1..=count).zip(members.iter().cycle()) {
        let mut instance = Instance::new("container", member);
        instance.config = Config::from([
            ("user.owner".to_owned(), "somebody else".to_owned()),
            ("image.description".to_owned(), "an image".to_owned()),
            ("volatile.base_image".to_owned(), "0".repeat(64)),
        ]);
        let root = [("type", "disk"), ("path", "/"), ("pool", POOL)];
        let root = root.map(|(key, value)| (key.to_owned(), value.to_owned()));
        instance.devices = Devices::from([("root".to_owned(), root.into())]);
        instance.profiles = vec!["default".to_owned()];
        instance.start();
        state.put(key("default", &format!("other-{number:05}")), instance);
    }
}
