//! Order: which of the changes to members that wait in one process goes first; only one changes the cluster at a time.
//!
//! Before: OpenTofu starts many resources at once. After: whoever is first takes a step, and those behind go on waiting.
//! A change that waits for its machine is not in the queue: it would hold up those that could go on.

/// A change to the members of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// What kind it is: the smaller, the earlier.
    pub kind: Kind,
    /// The member; by name among those of one kind.
    pub name: String,
}

/// What kinds of changes there are, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Making the cluster: all others wait for it.
    Bootstrap,
    /// Joining, and repairing what has joined. Before removals, so that a replaced member is there before the old one
    /// is not.
    Join,
    /// Removing.
    Remove,
}

/// The change that goes first.
pub fn first(waiting: &[Change]) -> Option<&Change> {
    waiting.iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bootstrap_goes_first_and_removals_last() {
        let change = |kind, name: &str| Change {
            kind,
            name: name.to_owned(),
        };
        let mut waiting = vec![
            change(Kind::Remove, "a"),
            change(Kind::Join, "c"),
            change(Kind::Join, "b"),
            change(Kind::Bootstrap, "d"),
        ];
        let mut order = Vec::new();
        while let Some(next) = first(&waiting).cloned() {
            waiting.retain(|change| *change != next);
            order.push(next.name);
        }
        assert_eq!(order, ["d", "b", "c", "a"]);
    }
}
