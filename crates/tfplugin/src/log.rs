//! Log lines for the host: one JSON object a line, on standard error.
//!
//! The host reads them, filters them by its own settings and shows them under `TF_LOG`. It is strict: message, level
//! and timestamp have to be strings, the timestamp has exactly six fractional digits, and a line ends before 64 KiB;
//! a host that is given anything else takes the line for plain text, or dies. Logs are passed around when users ask for
//! help, so no value of a configuration or a state belongs in one.

use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// What helps to find a fault.
    Debug,
    /// What happened.
    Info,
    /// What may be wrong.
    Warn,
    /// What is wrong.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// A field of a line: its name and what it shows.
pub type Field<'a> = (&'a str, &'a dyn Display);

/// Logs every step.
pub fn trace(message: &str, fields: &[Field<'_>]) {
    log(Level::Trace, message, fields);
}

/// Logs what helps to find a fault.
pub fn debug(message: &str, fields: &[Field<'_>]) {
    log(Level::Debug, message, fields);
}

/// Logs what happened.
pub fn info(message: &str, fields: &[Field<'_>]) {
    log(Level::Info, message, fields);
}

/// Logs what may be wrong.
pub fn warn(message: &str, fields: &[Field<'_>]) {
    log(Level::Warn, message, fields);
}

/// Logs what is wrong.
pub fn error(message: &str, fields: &[Field<'_>]) {
    log(Level::Error, message, fields);
}

/// Longer texts are cut, so that a line stays under the host's 64 KiB even when every character needs an escape.
const LONGEST_TEXT: usize = 500;
/// More fields than anyone reads; the rest is left out for the same reason.
const MOST_FIELDS: usize = 8;

fn log(level: Level, message: &str, fields: &[Field<'_>]) {
    static LEAST: OnceLock<Level> = OnceLock::new();
    static MODULE: OnceLock<String> = OnceLock::new();
    if level < *LEAST.get_or_init(|| least_level(|name| std::env::var(name).ok())) {
        return;
    }
    let module = MODULE.get_or_init(|| module_name(&std::env::args().next().unwrap_or_default()));
    let line = format_line(level, message, fields, module, jiff::Timestamp::now());
    // A host that does not listen any more is no reason to fail.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// The least level that the host will show. Without a wish of the user's it shows nothing, and warnings are still cheap.
fn least_level(variable: impl Fn(&str) -> Option<String>) -> Level {
    let wish = variable("TF_LOG_PROVIDER")
        .or_else(|| variable("TF_LOG"))
        .unwrap_or_default();
    match wish.to_ascii_lowercase().as_str() {
        "trace" | "json" => Level::Trace,
        "debug" => Level::Debug,
        "info" => Level::Info,
        "error" => Level::Error,
        _ => Level::Warn,
    }
}

/// The provider's short name, taken from the program's: `/x/terraform-provider-toy_v1.0.0` is `toy`.
fn module_name(program: &str) -> String {
    let file = program.rsplit('/').next().unwrap_or_default();
    let name = file.strip_prefix("terraform-provider-").unwrap_or(file);
    name.split('_').next().unwrap_or_default().to_owned()
}

fn format_line(
    level: Level,
    message: &str,
    fields: &[Field<'_>],
    module: &str,
    now: jiff::Timestamp,
) -> String {
    let mut line = Map::new();
    for (name, value) in fields.iter().take(MOST_FIELDS) {
        line.insert(cut(name), Json::from(cut(&value.to_string())));
    }
    line.insert("@level".to_owned(), Json::from(level.name()));
    line.insert("@message".to_owned(), Json::from(cut(message)));
    line.insert("@module".to_owned(), Json::from(cut(module)));
    line.insert("@timestamp".to_owned(), Json::from(format!("{now:.6}")));
    format!("{}\n", Json::Object(line))
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_noon() -> jiff::Timestamp {
        "2026-01-02T12:00:00Z".parse().expect("a timestamp")
    }

    #[test]
    fn a_line_is_what_the_host_reads() {
        let line = format_line(
            Level::Info,
            "a \"quoted\"\nmessage",
            &[("count", &3)],
            "toy",
            at_noon(),
        );
        let expected = concat!(
            r#"{"@level":"info","@message":"a \"quoted\"\nmessage","@module":"toy","#,
            r#""@timestamp":"2026-01-02T12:00:00.000000Z","count":"3"}"#,
            "\n"
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn the_longest_line_fits_into_the_hosts_buffer() {
        let long = "\u{1}".repeat(100_000);
        let names: Vec<String> = (0..50).map(|number| format!("{number}{long}")).collect();
        let fields: Vec<Field<'_>> = names
            .iter()
            .map(|name| (name.as_str(), name as &dyn Display))
            .collect();
        let line = format_line(Level::Error, &long, &fields, &long, at_noon());
        assert!(line.len() < 65_536, "{}", line.len());
    }

    #[test]
    fn the_users_wish_decides_the_least_level() {
        let of = |name: &'static str, wish: &'static str| {
            least_level(move |asked| (asked == name).then(|| wish.into()))
        };
        assert_eq!(of("TF_LOG", "TRACE"), Level::Trace);
        assert_eq!(of("TF_LOG_PROVIDER", "debug"), Level::Debug);
        assert_eq!(of("TF_LOG", "off"), Level::Warn);
        assert_eq!(of("OTHER", "trace"), Level::Warn);
    }

    #[test]
    fn the_module_is_the_providers_short_name() {
        assert_eq!(module_name("/x/terraform-provider-toy_v1.0.0"), "toy");
        assert_eq!(module_name("toy"), "toy");
    }
}
