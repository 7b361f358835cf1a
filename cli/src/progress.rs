//! How far a long write is, on standard error: for somebody who watches, and nobody else.
//!
//! Before: `image/copy.rs` says how many bytes are done. Not here: the report at the end, which goes to standard output.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Often enough to look alive, and no work to speak of.
const INTERVAL: Duration = Duration::from_millis(500);

/// One passage over the bytes of an image.
pub(crate) struct Progress {
    /// What is being done: "writing", "reading back".
    act: &'static str,
    total: u64,
    begun: Instant,
    told: Option<Instant>,
    to: Sink,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    Nobody,
    /// One line, again and again.
    Terminal,
    /// One line after the other, since somebody asked for it.
    Lines,
}

impl Progress {
    /// Begins. It is shown on a terminal, or if it is asked for. `total` is the expected count of bytes.
    pub(crate) fn begin(act: &'static str, total: u64, is_asked_for: bool) -> Self {
        let to = match (io::stderr().is_terminal(), is_asked_for) {
            (true, _) => Sink::Terminal,
            (false, true) => Sink::Lines,
            (false, false) => Sink::Nobody,
        };
        Self {
            act,
            total,
            begun: Instant::now(),
            told: None,
            to,
        }
    }

    /// Says that so many bytes are done, from the beginning on.
    pub(crate) fn reach(&mut self, done: u64) {
        if self.to != Sink::Nobody && self.told.is_none_or(|told| told.elapsed() >= INTERVAL) {
            self.told = Some(Instant::now());
            self.show(done, if self.to == Sink::Terminal { "" } else { "\n" });
        }
    }

    /// Says that all is done, and how long it took.
    pub(crate) fn end(self, done: u64) -> Duration {
        if self.to != Sink::Nobody {
            self.show(done, "\n");
        }
        self.begun.elapsed()
    }

    fn show(&self, done: u64, end: &str) {
        let line = line(self.act, done, self.total, self.begun.elapsed());
        let back = if self.to == Sink::Terminal {
            "\r\x1b[K"
        } else {
            ""
        };
        // Whether it is seen changes nothing.
        let _ = write!(io::stderr(), "{back}{line}{end}");
    }
}

fn line(act: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = done as f64 / seconds;
    let left = total.saturating_sub(done) as f64 / rate.max(1.0);
    let left = Duration::from_secs(left.min(1e9) as u64);
    format!(
        "{act}: {} of {}, {}/s, {} left",
        size(done),
        size(total),
        size(rate as u64),
        time(left)
    )
}

/// A count of bytes as people read it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, power)| bytes >> power > 0);
    match unit {
        Some((name, power)) => format!("{:.1} {name}", bytes as f64 / (1u64 << power) as f64),
        None => format!("{bytes} bytes"),
    }
}

/// A time as people read it.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long_still() {
        let (done, total) = (1 << 30, 3 << 30);
        let shown = line("writing", done, total, Duration::from_secs(10));
        assert_eq!(shown, "writing: 1.0 GiB of 3.0 GiB, 102.4 MiB/s, 20 s left");
    }

    #[test]
    fn nothing_done_and_more_than_expected_are_shown_as_well() {
        let shown = line("writing", 0, 3 << 30, Duration::ZERO);
        assert!(
            shown.starts_with("writing: 0 bytes of 3.0 GiB, 0 bytes/s, "),
            "{shown}"
        );
        let shown = line("writing", 4 << 30, 3 << 30, Duration::from_secs(1));
        assert!(shown.ends_with(", 0 s left"), "{shown}");
    }

    #[test]
    fn times_are_in_units_that_fit() {
        for (seconds, shown) in [(0, "0 s"), (61, "1 min 1 s"), (3720, "1 h 2 min")] {
            assert_eq!(time(Duration::from_secs(seconds)), shown);
        }
    }
}
