//! Does a provider keep to the host's rules? It is started and asked, with generated cases for all that it registers.
//!
//! ```text
//! conformance.rs ─ what is to be run, with which hints
//!     │
//! course.rs ─ the process, the cases of everything registered ── registered.rs, generate.rs, case.rs
//!     │
//! walk.rs, others.rs ─ one case ── calls.rs, plan_valid.rs, compatible.rs
//!     │
//! rule.rs, finding.rs, report.rs ─ what was found
//! ```
//!
//! A run is always the same: cases come from a seed, and a failure names it with the number of the case, which is made
//! smaller first. No world is needed that a provider's own tests would not need: a kind whose objects cannot be made
//! here is only validated and planned ([`Walk::ValidateAndPlan`]).

mod calls;
mod case;
mod compatible;
mod course;
mod finding;
mod generate;
mod others;
mod plan_valid;
mod registered;
mod report;
mod rule;
mod walk;

use std::collections::BTreeMap;

pub use finding::Finding;
pub use report::{Failure, Report, Tally};
pub use rule::Rule;

use super::{HostError, Launch};
use crate::Value;
use generate::Hints;

/// How far the cases of a resource go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// Objects are made, changed, replaced, imported and destroyed.
    #[default]
    WithApply,
    /// Nothing is made: plans are asked for without a prior state, and with made up ones.
    ValidateAndPlan,
}

/// A run against one provider.
///
/// Everything that the provider registers gets its cases, with or without hints. The hints say what good values are, since
/// a provider refuses most of what a schema allows.
///
/// ```no_run
/// # async fn example() -> Result<(), tfplugin::testing::HostError> {
/// use tfplugin::testing::{Conformance, Launch};
/// use tfplugin::Value;
/// let report = Conformance::new(Launch::new("target/debug/terraform-provider-toy"))
///     .configured(Value::object([("folder", "/tmp/toy".into())]))
///     .hint("toy_box", "name", ["a", "b"])
///     .hint("toy_box", "lid.period", ["90m", "1h30m"])
///     .run()
///     .await?;
/// assert!(report.is_sound(), "{report}");
/// # Ok(())
/// # }
/// ```
pub struct Conformance {
    launch: Launch,
    settings: Settings,
}

/// What a run is told.
struct Settings {
    provider_config: Value,
    cases: u32,
    seed: u64,
    only: Option<String>,
    case: Option<u32>,
    smaller_forms: u32,
    minimum_share: f64,
    hints: BTreeMap<String, Hints>,
    walks: BTreeMap<String, Walk>,
    /// For kinds without hints.
    no_hints: Hints,
}

impl Conformance {
    /// A run of 256 cases for everything that the provider registers.
    pub fn new(launch: Launch) -> Conformance {
        Conformance {
            launch,
            settings: Settings {
                provider_config: Value::Object(BTreeMap::new()),
                cases: 256,
                seed: 1,
                only: None,
                case: None,
                smaller_forms: 400,
                minimum_share: 0.25,
                hints: BTreeMap::new(),
                walks: BTreeMap::new(),
                no_hints: Hints::default(),
            },
        }
    }

    /// With a provider block. What it leaves out is null.
    pub fn configured(mut self, config: Value) -> Conformance {
        self.settings.provider_config = config;
        self
    }

    /// With this many cases.
    pub fn cases(mut self, cases: u32) -> Conformance {
        self.settings.cases = cases;
        self
    }

    /// With other cases.
    pub fn seed(mut self, seed: u64) -> Conformance {
        self.settings.seed = seed;
        self
    }

    /// With cases for one registered thing only; the provider block is called `provider`.
    pub fn only(mut self, name: impl Into<String>) -> Conformance {
        self.settings.only = Some(name.into());
        self
    }

    /// With one case only: the one that a failure named.
    pub fn case(mut self, case: u32) -> Conformance {
        self.settings.case = Some(case);
        self
    }

    /// With failing cases as they come, instead of as small as possible.
    pub fn without_smaller_forms(mut self) -> Conformance {
        self.settings.smaller_forms = 0;
        self
    }

    /// With good values for an attribute of a registered thing, or a parameter of a function. The path is made of
    /// attribute names, elements of plain collections are `*`: `lid.period`, `claims.*`. Whole nested attributes can be
    /// hinted, too.
    pub fn hint<V: Into<Value>>(
        mut self,
        name: &str,
        path: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Conformance {
        let values = values.into_iter().map(Into::into).collect();
        let hints = self.settings.hints.entry(name.to_owned()).or_default();
        hints.values.insert(path.to_owned(), values);
        self
    }

    /// With attributes that a good configuration gives, though the schema does not demand them: by their paths.
    pub fn always<'a>(
        mut self,
        name: &str,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Conformance {
        let paths = paths.into_iter().map(str::to_owned);
        let hints = self.settings.hints.entry(name.to_owned()).or_default();
        hints.always.extend(paths);
        self
    }

    /// With good keys for a map.
    pub fn keys<K: Into<String>>(
        mut self,
        name: &str,
        path: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Conformance {
        let keys = keys.into_iter().map(Into::into).collect();
        let hints = self.settings.hints.entry(name.to_owned()).or_default();
        hints.keys.insert(path.to_owned(), keys);
        self
    }

    /// How far the cases of a resource go; by itself they go through apply.
    pub fn walk(mut self, name: &str, walk: Walk) -> Conformance {
        self.settings.walks.insert(name.to_owned(), walk);
        self
    }

    /// Which share of the cases of a hinted resource has to get to the end of its walk; a quarter by itself.
    pub fn minimum_share(mut self, share: f64) -> Conformance {
        self.settings.minimum_share = share;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// When the provider cannot be started at all. Whatever it does wrong once it runs is in the report.
    pub async fn run(self) -> Result<Report, HostError> {
        course::run(self.launch, self.settings).await
    }
}

impl Settings {
    fn hints(&self, name: &str) -> &Hints {
        self.hints.get(name).unwrap_or(&self.no_hints)
    }
}
