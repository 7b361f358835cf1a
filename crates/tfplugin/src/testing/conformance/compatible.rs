//! Whether a result honours its plan: what was planned as known is there as it was planned, what was unknown may be
//! anything.
//!
//! The host asks it of a state after apply, and in the same words of a final plan about the first one.

use super::Rule;
use super::finding::{Finding, short};
use super::plan_valid::{Difference, how};
use crate::{Path, Value};

/// Judges a result; `rule` is what it breaks when it does not honour its plan.
pub(super) fn compatible(planned: &Value, result: &Value, rule: Rule) -> Result<(), Finding> {
    judge(planned, result, &Path::root()).map_err(|(path, how)| Finding::new(rule, how).at(&path))
}

fn judge(planned: &Value, result: &Value, path: &Path) -> Result<(), (Path, String)> {
    let differs = || {
        let how = match how(planned, result) {
            Difference::Emptiness => " One is null, the other one empty.",
            Difference::Order => " The order is another one.",
            Difference::Digits => " The numbers are not exactly the same.",
            Difference::Presence | Difference::Content => "",
        };
        let (planned, result) = (short(planned), short(result));
        Err((
            path.clone(),
            format!("Planned was {planned}, it became {result}.{how}"),
        ))
    };
    match (planned, result) {
        (Value::Unknown, _) => Ok(()),
        (Value::Dynamic(planned_type, planned), Value::Dynamic(result_type, result))
            if planned.is_unknown() || planned_type == result_type =>
        {
            judge(planned, result, path)
        }
        (Value::Object(planned), Value::Object(result)) if planned.keys().eq(result.keys()) => {
            let mut members = planned.iter().zip(result.values());
            members.try_for_each(|((name, planned), result)| {
                judge(planned, result, &path.clone().attr(name))
            })
        }
        (Value::Map(planned), Value::Map(result)) if planned.keys().eq(result.keys()) => {
            let mut members = planned.iter().zip(result.values());
            members.try_for_each(|((key, planned), result)| {
                judge(planned, result, &path.clone().key(key))
            })
        }
        (Value::List(before), Value::List(after)) if before.len() == after.len() => {
            let mut elements = before.iter().zip(after).enumerate();
            let judged = elements.try_for_each(|(index, (before, after))| {
                judge(before, after, &path.clone().index(index as i64))
            });
            // In another order every element differs, and that says less.
            match matches!(how(planned, result), Difference::Order) {
                true if judged.is_err() => differs(),
                _ => judged,
            }
        }
        // Unknown elements may become equal, so a set may shrink; it does not grow.
        (Value::Set(planned), Value::Set(result)) => {
            let suits = |planned: &Value, result: &Value| judge(planned, result, path).is_ok();
            let kept = planned
                .iter()
                .all(|planned| result.iter().any(|result| suits(planned, result)));
            let expected = result
                .iter()
                .all(|result| planned.iter().any(|planned| suits(planned, result)));
            match kept && expected && result.len() <= planned.len() {
                true => Ok(()),
                false => differs(),
            }
        }
        (planned, result) if planned == result => Ok(()),
        _ => differs(),
    }
}
