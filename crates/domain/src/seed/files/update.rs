//! `update.json`: only if something is said about it; IncusOS has good defaults.

use serde::Serialize;

use super::{VERSION, settled, text};
use crate::seed::declared::{DeclaredUpdate, DeclaredWindow};

#[derive(Serialize)]
struct File {
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_reboot: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_frequency: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    maintenance_windows: Vec<Window>,
}

#[derive(Serialize)]
struct Window {
    #[serde(skip_serializing_if = "Option::is_none")]
    start_day_of_week: Option<String>,
    start_hour: u64,
    start_minute: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_day_of_week: Option<String>,
    end_hour: u64,
    end_minute: u64,
}

pub(super) fn render(update: &DeclaredUpdate) -> Option<String> {
    let windows = settled(&update.maintenance_windows)?;
    text(&File {
        version: VERSION,
        auto_reboot: settled(&update.auto_reboot)?.copied(),
        channel: settled(&update.channel)?.cloned(),
        check_frequency: settled(&update.check_frequency)?.cloned(),
        maintenance_windows: windows
            .into_iter()
            .flatten()
            .map(window)
            .collect::<Option<_>>()?,
    })
}

fn window(declared: &DeclaredWindow) -> Option<Window> {
    Some(Window {
        start_day_of_week: settled(&declared.start_day_of_week)?.cloned(),
        start_hour: settled(&declared.start_hour)?.copied().unwrap_or(0),
        start_minute: settled(&declared.start_minute)?.copied().unwrap_or(0),
        end_day_of_week: settled(&declared.end_day_of_week)?.cloned(),
        end_hour: settled(&declared.end_hour)?.copied().unwrap_or(0),
        end_minute: settled(&declared.end_minute)?.copied().unwrap_or(0),
    })
}
