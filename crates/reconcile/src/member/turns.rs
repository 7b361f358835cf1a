//! Turns: the changes to members that run in one process take them, the most urgent first.
//!
//! Before: `member.rs` has seen that there is something to do. Which change is the most urgent is decided by
//! `domain::membership::order`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::membership::order::{self, Change};
use tokio::sync::Notify;

/// The changes to the members of a cluster that run in this process.
#[derive(Debug, Default)]
pub struct Changes {
    queue: Mutex<Queue>,
    moved: Notify,
    bootstrap_failed: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Change>,
    is_taken: bool,
}

/// The right to change a cluster's members; dropping it lets the next one have it.
pub(super) struct Turn<'a> {
    changes: &'a Changes,
    has_waited: bool,
}

impl Turn<'_> {
    /// Whether somebody else had the turn first.
    pub(super) fn has_waited(&self) -> bool {
        self.has_waited
    }
}

impl Changes {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bootstrap member of this process could not be made: whoever waits for its cluster waits in vain.
    pub fn bootstrap_failed(&self) {
        self.bootstrap_failed.store(true, Ordering::Relaxed);
    }

    /// A bootstrap begins, perhaps once more.
    pub fn bootstrap_began(&self) {
        self.bootstrap_failed.store(false, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.bootstrap_failed.load(Ordering::Relaxed)
    }

    /// Waits for the turn of a change.
    pub(super) async fn turn(&self, change: Change) -> Turn<'_> {
        self.queue().waiting.push(change.clone());
        let mut has_waited = false;
        loop {
            // Noted before the look, so that a turn that ends in between is not missed.
            let moved = self.moved.notified();
            if self.takes(&change) {
                return Turn {
                    changes: self,
                    has_waited,
                };
            }
            has_waited = true;
            moved.await;
        }
    }

    fn takes(&self, change: &Change) -> bool {
        let mut queue = self.queue();
        if queue.is_taken || order::first(&queue.waiting) != Some(change) {
            return false;
        }
        queue.is_taken = true;
        let at = queue.waiting.iter().position(|one| one == change);
        queue.waiting.swap_remove(at.unwrap_or_default());
        true
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.changes.queue().is_taken = false;
        self.changes.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::membership::order::Kind;

    use super::*;

    fn change(kind: Kind, name: &str) -> Change {
        Change {
            kind,
            name: name.to_owned(),
        }
    }

    #[tokio::test]
    async fn one_at_a_time_and_the_bootstrap_first() {
        let changes = Arc::new(Changes::new());
        let order = Arc::new(Mutex::new(Vec::new()));
        let running = changes.turn(change(Kind::Join, "z")).await;
        let mut waiting = Vec::new();
        for (kind, name) in [
            (Kind::Remove, "a"),
            (Kind::Join, "c"),
            (Kind::Join, "b"),
            (Kind::Bootstrap, "d"),
        ] {
            let (changes, order) = (Arc::clone(&changes), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                let _turn = changes.turn(change(kind, name)).await;
                order.lock().expect("a list").push(name);
                tokio::task::yield_now().await;
            }));
            tokio::task::yield_now().await;
        }
        assert!(order.lock().expect("a list").is_empty());
        drop(running);
        for one in waiting {
            one.await.expect("its turn");
        }
        assert_eq!(*order.lock().expect("a list"), ["d", "b", "c", "a"]);
    }
}
