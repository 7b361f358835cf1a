//! A plan: what an object will be, what is not known of it yet, and whether it has to be replaced.
//!
//! The schema's rules (`plan_rules.rs`) have been applied when a resource gets to see a plan. What is sent back is
//! looked over once more by `apply.rs`. A plan is a pure function of configuration, prior state and private state.

use crate::{Diagnostics, Path, Value};

/// A plan in the making, for [`crate::Resource::plan`].
///
/// To the host every attribute in `planned` is either what the configuration says, or what it was before, or (of a
/// computed attribute that the configuration leaves out) anything, unknown included. What is planned as known has to
/// be in the state after apply.
pub struct Plan<'a> {
    /// What the user wrote; null when the object is to be destroyed.
    pub config: &'a Value,
    /// The state before; null when the object is to be created.
    pub prior: &'a Value,
    /// What the object will be; null when it is to be destroyed.
    pub planned: Value,
    /// What the last call noted on the way in, what apply shall get on the way out.
    pub private: Vec<u8>,
    /// What makes a replacement of this update.
    pub requires_replace: Vec<Path>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

impl Plan<'_> {
    /// Whether there is no object before. The creation half of a replacement is a create too.
    pub fn is_create(&self) -> bool {
        self.prior.is_null() && !self.planned.is_null()
    }

    /// Whether there is an object before and after.
    pub fn is_update(&self) -> bool {
        !self.prior.is_null() && !self.planned.is_null()
    }

    /// Whether there is no object after.
    pub fn is_destroy(&self) -> bool {
        self.planned.is_null()
    }

    /// Whether anything differs from before.
    pub fn changed(&self) -> bool {
        &self.planned != self.prior
    }

    /// Whether an attribute differs from before.
    pub fn attr_changed(&self, name: &str) -> bool {
        self.planned.attr(name) != self.prior.attr(name)
    }

    /// An attribute will be known after apply. Only a computed one that the configuration leaves out can be.
    pub fn set_unknown(&mut self, name: &str) {
        self.set(name, Value::Unknown);
    }

    /// An attribute stays as it was, if it was anything.
    pub fn keep_prior(&mut self, name: &str) {
        let prior = self.prior.attr(name).clone();
        if !prior.is_null() {
            self.set(name, prior);
        }
    }

    /// An attribute will be this. In a plan to destroy nothing is set.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        if !self.is_destroy() {
            self.planned.set_attr(name, value);
        }
    }

    /// The update becomes a replacement because of this attribute. On a create there is nothing to replace.
    pub fn replace_because_of(&mut self, path: impl Into<Path>) {
        if self.is_update() {
            self.requires_replace.push(path.into());
        }
    }
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shape = (self.config, self.prior, &self.planned);
        formatter
            .debug_tuple("Plan")
            .field(&shape)
            .finish_non_exhaustive()
    }
}
