//! The health of a declaration: a check, and times that can be met.
//!
//! Before: `declared.rs` reads every part. After: [`Health`], with the defaults of `app` where the user is silent. What
//! is asked is in `check.rs`.

use core::time::Duration;

use super::{DeclaredHealth, check};
use crate::app::{HEALTHY_DEADLINE, Health, MIN_HEALTHY_TIME};
use crate::duration;
use crate::given::Given;
use crate::issue::{Issue, Step};

pub(super) fn read(given: &Given<DeclaredHealth>, issues: &mut Vec<Issue>) -> Option<Health> {
    let absent = DeclaredHealth::default();
    let health = match given {
        Given::Absent => &absent,
        Given::Unknown => return None,
        Given::Known(health) => health,
    };
    let check = check::read(&health.check, issues);
    let min_healthy_time = read_duration(
        &health.min_healthy_time,
        MIN_HEALTHY_TIME,
        &["health", "min_healthy_time"],
        issues,
    );
    let healthy_deadline = read_duration(
        &health.healthy_deadline,
        HEALTHY_DEADLINE,
        &["health", "healthy_deadline"],
        issues,
    );
    if let (Some(min), Some(deadline)) = (min_healthy_time, healthy_deadline)
        && min >= deadline
    {
        issues.push(Issue::new(
            vec![Step::Attribute("health"), Step::Attribute("min_healthy_time")],
            "A candidate could never be promoted",
            format!(
                "`min_healthy_time` is {}, `healthy_deadline` is {}. A candidate must have been healthy for the first within \
                 the second, so the deadline must be longer: raise it, or lower `min_healthy_time`.",
                duration::format(min),
                duration::format(deadline)
            ),
        ));
    }
    Some(Health {
        check: check?,
        min_healthy_time: min_healthy_time?,
        healthy_deadline: healthy_deadline?,
    })
}

pub(super) fn read_duration(
    given: &Given<String>,
    default: Duration,
    path: &[&'static str],
    issues: &mut Vec<Issue>,
) -> Option<Duration> {
    match given {
        Given::Absent => Some(default),
        Given::Unknown => None,
        Given::Known(text) => match duration::parse_at(steps(path), text) {
            Ok(duration) => Some(duration),
            Err(issue) => {
                issues.push(issue);
                None
            }
        },
    }
}

pub(super) fn steps(path: &[&'static str]) -> Vec<Step> {
    path.iter().map(|name| Step::Attribute(name)).collect()
}
