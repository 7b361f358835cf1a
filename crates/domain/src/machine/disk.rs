//! The disk that IncusOS is installed on: chosen by what it is, never by a device path, which changes between starts.
//!
//! The rules are those of IncusOS's installer, and stricter where it would only fail in front of the machine.

use crate::given::Given;
use crate::issue::{Issue, Step};

/// The smallest disk that IncusOS takes, in bytes.
pub const SMALLEST: u64 = 50 << 30;

/// What a disk has to be like, as a configuration has it. All that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// A part of its name in `/dev/disk/by-id`.
    pub id: Given<String>,
    /// A part of what it is connected by, such as `nvme` or `usb`.
    pub bus: Given<String>,
    /// At least this large.
    pub min_size: Given<String>,
    /// At most this large.
    pub max_size: Given<String>,
    /// `smallest` or `largest`, where several are left.
    pub sort_order: Given<String>,
}

const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
];

/// Reads a size as IncusOS does: a whole number and a unit, in bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Everything that is wrong with the choice of a disk.
pub(super) fn check(disk: &Declared) -> Vec<Issue> {
    let mut issues = Vec::new();
    check_id(disk, &mut issues);
    for (name, given) in [("bus", &disk.bus), ("sort_order", &disk.sort_order)] {
        let allowed = |text: &str| match name {
            "bus" => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            _ => matches!(text, "smallest" | "largest"),
        };
        let expected = match name {
            "bus" => "Expected a word such as \"nvme\", \"scsi\", \"usb\", \"mmc\" or \"virtio\"",
            _ => "Expected \"smallest\" or \"largest\"",
        };
        if let Given::Known(text) = given
            && !allowed(text)
        {
            issues.push(issue(name, format!("It is {text:?}. {expected}.")));
        }
    }
    check_sizes(disk, &mut issues);
    issues
}

fn check_id(disk: &Declared, issues: &mut Vec<Issue>) {
    let Given::Known(id) = &disk.id else {
        return;
    };
    if id.is_empty() || id.contains('/') || is_device_name(id) {
        issues.push(issue(
            "id",
            format!(
                "It is {id:?}. Expected a part of the disk's name in /dev/disk/by-id, such as \"nvme-eui.0025385b\" or a \
                 serial number. Device names such as /dev/sda change between two starts, so none is accepted."
            ),
        ));
    }
}

/// `sda`, `vdb2`, `nvme0n1`, `mmcblk0`: names that the kernel gives in the order in which it meets disks.
fn is_device_name(id: &str) -> bool {
    let lettered = ["sd", "vd", "hd"]
        .iter()
        .filter_map(|kind| id.strip_prefix(kind));
    let numbered = ["nvme", "mmcblk", "loop", "sr"]
        .iter()
        .filter_map(|kind| id.strip_prefix(kind));
    let lettered = lettered.map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_digit()));
    let is_letters = |rest: &str| {
        (1..=2).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let is_number = |rest: &str| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"np".contains(&byte))
    };
    lettered.into_iter().any(is_letters) || numbered.into_iter().any(is_number)
}

fn check_sizes(disk: &Declared, issues: &mut Vec<Issue>) {
    let mut sizes = [None; 2];
    for (size, (name, given)) in sizes
        .iter_mut()
        .zip([("min_size", &disk.min_size), ("max_size", &disk.max_size)])
    {
        let Given::Known(text) = given else {
            continue;
        };
        *size = parse_size(text);
        if size.is_none() {
            issues.push(issue(
                name,
                format!(
                    "It is {text:?}. Expected a whole number with a unit of B, kB, MB, GB, TB, KiB, MiB, GiB or TiB right \
                     behind it, such as \"500GB\"."
                ),
            ));
        }
    }
    let [smallest, largest] = sizes;
    if let (Some(smallest), Some(largest)) = (smallest, largest)
        && smallest > largest
    {
        issues.push(issue(
            "max_size",
            "It is less than min_size, so no disk fits. Expected the larger of the two here."
                .to_owned(),
        ));
    }
    if largest.is_some_and(|largest| largest < SMALLEST) {
        issues.push(issue(
            "max_size",
            "No disk fits: IncusOS needs 50 GiB. Expected at least \"50GiB\".".to_owned(),
        ));
    }
}

fn issue(name: &'static str, detail: String) -> Issue {
    Issue::new(
        vec![Step::Attribute("install_disk"), Step::Attribute(name)],
        format!("The {name} of a machine's disk is not valid"),
        detail,
    )
}
