//! How IncusOS updates itself: the words and numbers that it would take as they are, and then never act on.

use core::time::Duration;

use super::at;
use crate::given::Given;
use crate::issue::{Issue, Step};
use crate::seed::declared::{DeclaredUpdate, DeclaredWindow};
use crate::seed::secret::quoted;
use crate::{duration, name};

/// The days as IncusOS spells them.
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

pub(super) fn check(update: &DeclaredUpdate, issues: &mut Vec<Issue>) {
    if let Given::Known(channel) = &update.channel
        && name::check_label(channel).is_err()
    {
        issues.push(Issue::new(
            at(&["update", "channel"]),
            "The update channel is not valid",
            format!(
                "It is {}. Expected the name of a channel in lower case, such as \"stable\" or \"testing\".",
                quoted(channel)
            ),
        ));
    }
    if let Given::Known(text) = &update.check_frequency {
        check_frequency(text, issues);
    }
    let windows = update.maintenance_windows.known().into_iter().flatten();
    for (index, window) in windows.enumerate() {
        check_window(index, window, issues);
    }
}

/// The documentation of IncusOS says that "1d" and "3h 30m" work, and they do not.
fn check_frequency(text: &str, issues: &mut Vec<Issue>) {
    let reason = match duration::parse(text) {
        _ if text == "never" => return,
        Ok(length) if length > Duration::ZERO => return,
        Ok(_) => "is no time at all, and \"never\" turns the checks off".to_owned(),
        Err(error) => error.to_string(),
    };
    issues.push(Issue::new(
        at(&["update", "check_frequency"]),
        "The check frequency of the updates is not valid",
        format!(
            "The text is {}: it {reason}. Expected \"never\" or a duration such as \"6h\" or \"3h30m\"; a day is \"24h\".",
            quoted(text)
        ),
    ));
}

fn check_window(index: usize, window: &DeclaredWindow, issues: &mut Vec<Issue>) {
    let path = |name| {
        let mut path = at(&["update", "maintenance_windows"]);
        path.extend([Step::Index(index), Step::Attribute(name)]);
        path
    };
    check_days(window, &path, issues);
    for (name, given, last) in [
        ("start_hour", &window.start_hour, 23),
        ("start_minute", &window.start_minute, 59),
        ("end_hour", &window.end_hour, 23),
        ("end_minute", &window.end_minute, 59),
    ] {
        if let Given::Known(number) = given
            && *number > last
        {
            issues.push(Issue::new(
                path(name),
                "A maintenance window has a time that no clock shows",
                format!("It is {number}. Expected 0 to {last}."),
            ));
        }
    }
    check_order(window, &path, issues);
}

fn check_days(
    window: &DeclaredWindow,
    path: &impl Fn(&'static str) -> Vec<Step>,
    issues: &mut Vec<Issue>,
) {
    let days = [
        ("start_day_of_week", &window.start_day_of_week),
        ("end_day_of_week", &window.end_day_of_week),
    ];
    for (name, given) in days {
        if let Given::Known(day) = given
            && !DAYS.contains(&day.as_str())
        {
            issues.push(Issue::new(
                path(name),
                "A maintenance window has a day that IncusOS does not know",
                format!(
                    "It is {}. Expected one of {}.",
                    quoted(day),
                    DAYS.join(", ")
                ),
            ));
        }
    }
    for ((name, given), (other_name, other)) in [(days[0], days[1]), (days[1], days[0])] {
        if *given == Given::Absent && other.known().is_some() {
            issues.push(Issue::new(
                path(name),
                "A maintenance window has one day only",
                format!("{other_name} is set and {name} is not. Set both, or neither for a window on every day."),
            ));
        }
    }
}

/// IncusOS wants the end of a window on one day behind its start; an empty window would keep every update away.
fn check_order(
    window: &DeclaredWindow,
    path: &impl Fn(&'static str) -> Vec<Step>,
    issues: &mut Vec<Issue>,
) {
    let days = (&window.start_day_of_week, &window.end_day_of_week);
    let on_one_day = match days {
        (Given::Absent, Given::Absent) => true,
        (Given::Known(start), Given::Known(end)) => start == end,
        _ => false,
    };
    let minutes = |hour: &Given<u64>, minute: &Given<u64>| {
        let number = |given: &Given<u64>| match given {
            Given::Absent => Some(0),
            Given::Unknown => None,
            // More than a day has is refused above; this keeps the sum small.
            Given::Known(number) => Some((*number).min(99)),
        };
        Some(number(hour)? * 60 + number(minute)?)
    };
    let start = minutes(&window.start_hour, &window.start_minute);
    let end = minutes(&window.end_hour, &window.end_minute);
    if let (true, Some(start), Some(end)) = (on_one_day, start, end)
        && end <= start
    {
        issues.push(Issue::new(
            path("end_hour"),
            "A maintenance window ends before it has started",
            "Both ends are on one day, and the end is not behind the start. Expected a later end; a window over midnight \
             names two days, or is two windows.",
        ));
    }
}
