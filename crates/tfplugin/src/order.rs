//! An order over all values, by which sets are compared. It means nothing else.
//!
//! Two sets are equal when they are in order. Each is put in order once, from the inside to the outside: sets of sets
//! that were sorted again in each comparison of their elements would take a time that grows with every level. Only
//! `value.rs` uses this.

use std::cmp::Ordering;

use crate::{Type, Value};

/// A value whose sets are in order, down to the innermost.
pub(crate) enum Ordered<'a> {
    /// What has nothing inside.
    Leaf(&'a Value),
    /// The elements of a list, or of a set in order.
    Elements(&'a Value, Vec<Ordered<'a>>),
    /// The members of a map or an object, by their names.
    Members(&'a Value, Vec<(&'a str, Ordered<'a>)>),
    Dynamic(&'a Value, &'a Type, Box<Ordered<'a>>),
}

impl<'a> Ordered<'a> {
    pub(crate) fn of(value: &'a Value) -> Ordered<'a> {
        match value {
            Value::Null | Value::Unknown | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Ordered::Leaf(value)
            }
            Value::List(elements) => {
                Ordered::Elements(value, elements.iter().map(Ordered::of).collect())
            }
            Value::Set(elements) => {
                let mut elements: Vec<Ordered<'_>> = elements.iter().map(Ordered::of).collect();
                elements.sort_by(Ordered::compare);
                Ordered::Elements(value, elements)
            }
            Value::Map(members) | Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, member)| (name.as_str(), Ordered::of(member)));
                Ordered::Members(value, members.collect())
            }
            Value::Dynamic(of, inner) => Ordered::Dynamic(value, of, Box::new(Ordered::of(inner))),
        }
    }

    pub(crate) fn compare(&self, other: &Ordered<'_>) -> Ordering {
        let by_rank = || rank(self.value()).cmp(&rank(other.value()));
        match (self, other) {
            (Ordered::Leaf(left), Ordered::Leaf(right)) => match (left, right) {
                (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
                (Value::Number(left), Value::Number(right)) => left.cmp(right),
                (Value::String(left), Value::String(right)) => left.cmp(right),
                _ => by_rank(),
            },
            (Ordered::Elements(_, left), Ordered::Elements(_, right)) => {
                by_rank().then_with(|| compare_elements(left.iter(), right.iter()))
            }
            (Ordered::Members(_, left), Ordered::Members(_, right)) => {
                let left_names = left.iter().map(|(name, _)| *name);
                let right_names = right.iter().map(|(name, _)| *name);
                left_names.cmp(right_names).then_with(|| {
                    let left = left.iter().map(|(_, member)| member);
                    compare_elements(left, right.iter().map(|(_, member)| member))
                })
            }
            (Ordered::Dynamic(_, left_type, left), Ordered::Dynamic(_, right_type, right)) => {
                left.compare(right).then_with(|| {
                    let description = |of: &Type| of.to_json().to_string();
                    description(left_type).cmp(&description(right_type))
                })
            }
            _ => by_rank(),
        }
    }

    fn value(&self) -> &'a Value {
        match self {
            Ordered::Leaf(value)
            | Ordered::Elements(value, _)
            | Ordered::Members(value, _)
            | Ordered::Dynamic(value, _, _) => value,
        }
    }
}

fn compare_elements<'o, 'a: 'o>(
    left: impl ExactSizeIterator<Item = &'o Ordered<'a>>,
    right: impl ExactSizeIterator<Item = &'o Ordered<'a>>,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    lengths.then_with(|| {
        let mut orders = left.zip(right).map(|(left, right)| left.compare(right));
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Unknown => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::List(_) => 5,
        Value::Set(_) => 6,
        // Which of the two it is, is the schema's to say; whoever builds one need not care.
        Value::Map(_) | Value::Object(_) => 7,
        Value::Dynamic(..) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of two sets, each of two sets, and so on, with leaves that differ; the pairs in this order or the other.
    fn bushy(levels: u32, first: u64, swapped: bool) -> Value {
        if levels == 0 {
            return Value::from(first);
        }
        let half = 1 << (levels - 1);
        let mut pair = vec![
            bushy(levels - 1, first, swapped),
            bushy(levels - 1, first + half, swapped),
        ];
        if swapped {
            pair.reverse();
        }
        Value::Set(pair)
    }

    /// Sorted again in each comparison, these 65536 leaves would be compared four thousand million times.
    #[test]
    fn sets_of_sets_are_compared_in_no_time() {
        let value = bushy(16, 0, false);
        assert_eq!(value, bushy(16, 0, true));
        assert_ne!(value, bushy(16, 1, true));
    }
}
