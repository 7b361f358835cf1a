//! Who in this process pulls, uses and deletes images: so that nobody deletes what another one is about to use.
//!
//! Before: `keep.rs` has found an image, `sweep.rs` one that nobody needs. After: workloads are made, or it is deleted.
//! Other processes are not known here; whoever misses an image pulls it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use incus::image::{Image, kernel_name};

/// The images of one cluster, as this process deals with them.
#[derive(Default)]
pub(crate) struct Pulls {
    /// Taken by whoever pulls an image, which may take long.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Taken by whoever looks for images that nobody uses.
    pub(super) sweeping: tokio::sync::Mutex<()>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// How many rollouts use an image, by its fingerprint.
    used: BTreeMap<String, usize>,
    /// What is being deleted.
    going: BTreeSet<String>,
}

/// An image that the cluster has, for as long as a rollout needs it: meanwhile nobody here replaces or deletes it.
pub(crate) struct InUse {
    /// Under which workloads are created from it.
    pub(crate) fingerprint: String,
    /// The kernel's name of the architecture that it is made for, if it is there.
    pub(crate) architecture: Option<String>,
    pulls: Option<Arc<Pulls>>,
}

/// An image that nobody uses, for as long as it is being deleted: meanwhile nobody here begins to use it.
pub(super) struct Going {
    fingerprint: String,
    pulls: Arc<Pulls>,
}

impl Pulls {
    /// Begins to use an image, unless it is being deleted.
    pub(super) fn take(self: &Arc<Self>, image: &Image) -> Option<InUse> {
        let mut held = self.held();
        if held.going.contains(&image.fingerprint) {
            return None;
        }
        *held.used.entry(image.fingerprint.clone()).or_default() += 1;
        Some(InUse {
            fingerprint: image.fingerprint.clone(),
            architecture: Some(kernel_name(&image.architecture).to_owned()),
            pulls: Some(Arc::clone(self)),
        })
    }

    /// Begins to delete an image, unless it is used.
    pub(super) fn let_go(self: &Arc<Self>, fingerprint: &str) -> Option<Going> {
        let mut held = self.held();
        if held.used.contains_key(fingerprint) {
            return None;
        }
        held.going.insert(fingerprint.to_owned());
        Some(Going {
            fingerprint: fingerprint.to_owned(),
            pulls: Arc::clone(self),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InUse {
    /// Nobody needs to hold what is not pulled by us.
    pub(crate) fn unguarded(fingerprint: String) -> Self {
        Self {
            fingerprint,
            architecture: None,
            pulls: None,
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let Some(pulls) = &self.pulls else { return };
        let mut held = pulls.held();
        if let Some(rollouts) = held.used.get_mut(&self.fingerprint) {
            *rollouts -= 1;
            if *rollouts == 0 {
                held.used.remove(&self.fingerprint);
            }
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.pulls.held().going.remove(&self.fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_not_deleted_and_what_is_deleted_is_not_used() {
        let pulls = Arc::<Pulls>::default();
        let image = Image {
            fingerprint: "ab".to_owned(),
            architecture: "amd64".to_owned(),
            ..Image::default()
        };
        let first = pulls.take(&image).expect("nobody deletes it");
        let second = pulls.take(&image).expect("others may use it, too");
        assert_eq!(first.architecture.as_deref(), Some("x86_64"));
        drop(first);
        assert!(pulls.let_go("ab").is_none(), "the second one uses it");
        drop(second);
        let going = pulls.let_go("ab").expect("nobody uses it any more");
        assert!(pulls.take(&image).is_none(), "it is being deleted");
        drop(going);
        assert!(pulls.take(&image).is_some());
    }
}
