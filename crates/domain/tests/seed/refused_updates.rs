//! What is refused of updates, and what is accepted.

use domain::given::Given;

use crate::fixtures::*;
use crate::refused::check_table;

/// Days, hours and durations that IncusOS takes as they are, or refuses against its own documentation.
#[test]
fn updates_that_would_not_happen_are_refused() {
    let with = |change: fn(&mut domain::seed::DeclaredWindow)| {
        changed(smallest(), |seed| {
            let mut window = window();
            change(&mut window);
            inside(&mut seed.update).maintenance_windows = Given::Known(vec![window]);
        })
    };
    let at = |name: &str| format!("update.maintenance_windows[0].{name}");
    let (start_day, end_day, start_hour, end_hour) = (
        at("start_day_of_week"),
        at("end_day_of_week"),
        at("start_hour"),
        at("end_hour"),
    );
    let (start_minute, end_minute) = (at("start_minute"), at("end_minute"));
    let mut table = vec![
        (
            with(|window| window.start_day_of_week = known("saturday")),
            start_day.as_str(),
            "day that IncusOS does not know",
        ),
        (
            with(|window| window.end_day_of_week = known("Sun")),
            &end_day,
            "day that IncusOS does not know",
        ),
        (
            with(|window| window.end_day_of_week = Given::Absent),
            &end_day,
            "one day only",
        ),
        (
            with(|window| window.start_day_of_week = Given::Absent),
            &start_day,
            "one day only",
        ),
        (
            with(|window| window.start_hour = Given::Known(24)),
            &start_hour,
            "no clock shows",
        ),
        (
            with(|window| window.end_hour = Given::Known(24)),
            &end_hour,
            "no clock shows",
        ),
        (
            with(|window| window.start_minute = Given::Known(60)),
            &start_minute,
            "no clock shows",
        ),
        (
            with(|window| window.end_minute = Given::Known(60)),
            &end_minute,
            "no clock shows",
        ),
        (
            with(|window| window.end_day_of_week = known("Saturday")),
            &end_hour,
            "ends before",
        ),
        (
            with(|window| {
                window.end_day_of_week = known("Saturday");
                (window.end_hour, window.end_minute) = (Given::Known(22), Given::Known(0));
            }),
            &end_hour,
            "ends before",
        ),
        (
            set(smallest(), "update.channel", "Stable"),
            "update.channel",
            "channel",
        ),
        (
            set(smallest(), "update.channel", ""),
            "update.channel",
            "channel",
        ),
    ];
    for text in ["1d", "3h 30m", "", "0", "0s", "-6h", "6", "Never", "always"] {
        table.push((
            set(smallest(), "update.check_frequency", text),
            "update.check_frequency",
            "check frequency",
        ));
    }
    check_table(table);
    for text in ["never", "6h", "3h30m", "1.5h", "90s"] {
        assert_eq!(
            set(smallest(), "update.check_frequency", text).check(),
            [],
            "{text}"
        );
    }
}
