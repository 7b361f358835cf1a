//! Decides whether a place is written to. Whatever could be regretted is refused, with the way on.
//!
//! Before: `target.rs` gathered what is known. After: `copy.rs` writes. Pure: nothing is looked at here.

use std::path::PathBuf;

use super::target::{Device, Kind, Target};
use crate::progress::size;

/// What is going to be written.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    /// The least that it has, in bytes.
    pub(crate) size: u64,
    /// Whether it is a whole disk with partitions, or a volume that may go into a partition.
    pub(crate) is_disk: bool,
    /// The name that was given with `--yes`.
    pub(crate) confirmed: Option<String>,
    /// The files that are read, each with its file system and its number in there.
    pub(crate) inputs: Vec<(PathBuf, (u64, u64))>,
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{path} is a folder; --output takes a file in it, or a device")]
    Folder { path: PathBuf },
    #[error("{path} is neither a file nor a disk")]
    Other { path: PathBuf },
    #[error("{path} is {input}, which is read for this; choose another file for --output")]
    Input { path: PathBuf, input: PathBuf },
    #[error("{device} is in use: {}. Unmount it, or choose another device", uses.join(", "))]
    Used { device: String, uses: Vec<String> },
    #[error("{device} is write-protected")]
    ReadOnly { device: String },
    #[error(
        "{device} is a partition of {disk}; an install image is a whole disk. Give --output /dev/{disk}"
    )]
    Partition { device: String, disk: String },
    #[error("{device} has {has} bytes, and {needs} are needed")]
    Small {
        device: String,
        has: u64,
        needs: u64,
    },
    #[error("Everything on {device} would be lost. If it is the right one, add --yes {name}")]
    Unconfirmed { device: String, name: String },
    #[error("--yes names {given}, and --output is {device}. Nothing was written")]
    Misconfirmed { device: String, given: String },
    #[error(
        "--yes names a device, and {path} is none. Is it plugged in? For a file leave out --yes"
    )]
    NoDevice { path: PathBuf },
    #[error("{path} would be a file among devices, and is none of them. Is the device plugged in?")]
    AmongDevices { path: PathBuf },
}

/// Says why this place must not be written to, if so.
pub(crate) fn refuse(target: &Target, intent: &Intent) -> Result<(), Refusal> {
    let path = target.path.clone();
    let is_file = matches!(target.kind, Kind::Nothing | Kind::File { .. });
    // A file in the place of a missing stick would be taken for one.
    if is_file && intent.confirmed.is_some() {
        return Err(Refusal::NoDevice { path });
    }
    if is_file && target.is_among_devices {
        return Err(Refusal::AmongDevices { path });
    }
    match &target.kind {
        Kind::Nothing => Ok(()),
        Kind::Folder => Err(Refusal::Folder { path }),
        Kind::Other => Err(Refusal::Other { path }),
        Kind::File { identity } => {
            let input = intent.inputs.iter().find(|(_, input)| input == identity);
            input.map_or(Ok(()), |(input, _)| {
                let input = input.clone();
                Err(Refusal::Input { path, input })
            })
        }
        Kind::Device(device) => refuse_device(device, intent),
    }
}

fn refuse_device(device: &Device, intent: &Intent) -> Result<(), Refusal> {
    let name = device.name.clone();
    let shown = shown(device);
    if !device.uses.is_empty() {
        let uses = device.uses.clone();
        return Err(Refusal::Used {
            device: shown,
            uses,
        });
    }
    if device.is_read_only {
        return Err(Refusal::ReadOnly { device: shown });
    }
    if let Some(disk) = device.part_of.clone().filter(|_| intent.is_disk) {
        return Err(Refusal::Partition {
            device: shown,
            disk,
        });
    }
    if device.size < intent.size {
        return Err(Refusal::Small {
            device: shown,
            has: device.size,
            needs: intent.size,
        });
    }
    match &intent.confirmed {
        None => Err(Refusal::Unconfirmed {
            device: shown,
            name,
        }),
        // Both are what people call it.
        Some(given) if *given == name || *given == format!("/dev/{name}") => Ok(()),
        Some(given) => Err(Refusal::Misconfirmed {
            device: shown,
            given: given.clone(),
        }),
    }
}

/// Whether what was opened, a block device or not and with these numbers, is the device that was judged.
pub(crate) fn is_judged(device: &Device, is_block: bool, rdev: u64) -> bool {
    is_block && rdev == device.rdev
}

/// A device as its owner recognises it.
fn shown(device: &Device) -> String {
    let model = device.model.as_deref().unwrap_or("unknown model");
    format!("/dev/{} ({model}, {})", device.name, size(device.size))
}

#[cfg(test)]
mod tests {
    use super::super::target::tests::stick;
    use super::*;

    fn intent() -> Intent {
        Intent {
            size: 3 << 30,
            is_disk: true,
            confirmed: Some("sdb".into()),
            inputs: vec![("IncusOS.img".into(), (1, 2)), ("seed.tar".into(), (1, 3))],
        }
    }

    fn told(kind: Kind, intent: &Intent) -> String {
        told_at(kind, false, intent)
    }

    fn told_at(kind: Kind, is_among_devices: bool, intent: &Intent) -> String {
        let target = Target {
            path: "out".into(),
            kind,
            is_among_devices,
        };
        let refused = refuse(&target, intent);
        refused.map_or_else(|refusal| refusal.to_string(), |()| String::new())
    }

    #[test]
    fn files_and_confirmed_sticks_are_written() {
        let mut to_a_file = intent();
        to_a_file.confirmed = None;
        for (kind, intent) in [
            (Kind::Nothing, &to_a_file),
            (Kind::File { identity: (1, 9) }, &to_a_file),
            (Kind::File { identity: (2, 2) }, &to_a_file),
            (Kind::Device(stick()), &intent()),
        ] {
            assert_eq!(told(kind, intent), "");
        }
        assert_eq!(told_at(Kind::Device(stick()), true, &intent()), "");
        let mut by_path = intent();
        by_path.confirmed = Some("/dev/sdb".into());
        assert_eq!(told(Kind::Device(stick()), &by_path), "");
    }

    /// A stick that is not plugged in does not become a file of its name, for images and volumes alike.
    #[test]
    fn a_device_that_is_missing_is_not_replaced_by_a_file() {
        let (mut confirmed, mut unconfirmed) = (intent(), intent());
        unconfirmed.confirmed = None;
        for is_disk in [true, false] {
            (confirmed.is_disk, unconfirmed.is_disk) = (is_disk, is_disk);
            for kind in [Kind::Nothing, Kind::File { identity: (1, 9) }] {
                for (is_among_devices, intent, part) in [
                    (false, &confirmed, "--yes names a device, and out is none"),
                    (true, &confirmed, "--yes names a device, and out is none"),
                    (true, &unconfirmed, "out would be a file among devices"),
                ] {
                    let told = told_at(kind.clone(), is_among_devices, intent);
                    assert!(told.contains(part), "{told:?}");
                }
            }
        }
    }

    #[test]
    fn only_the_device_that_was_judged_is_written() {
        let device = stick();
        for (is_block, rdev, expected) in [
            (true, device.rdev, true),
            (true, device.rdev + 1, false),
            (false, device.rdev, false),
        ] {
            assert_eq!(is_judged(&device, is_block, rdev), expected);
        }
    }

    #[test]
    fn what_is_no_place_for_a_medium_is_refused() {
        let mut intent = intent();
        intent.confirmed = None;
        for (kind, part) in [
            (Kind::Folder, "out is a folder"),
            (Kind::Other, "neither a file nor a disk"),
            (
                Kind::File { identity: (1, 2) },
                "out is IncusOS.img, which is read",
            ),
            (
                Kind::File { identity: (1, 3) },
                "out is seed.tar, which is read",
            ),
        ] {
            let told = told(kind, &intent);
            assert!(told.contains(part), "{told}");
        }
    }

    /// The disk that a machine runs from is never written, whatever is confirmed.
    #[test]
    fn a_device_that_is_used_too_small_or_no_disk_is_refused() {
        let device = |change: fn(&mut Device)| {
            let mut device = stick();
            change(&mut device);
            Kind::Device(device)
        };
        for (kind, part) in [
            (
                device(|device| device.uses = vec!["sdb1 is mounted on /".into()]),
                "/dev/sdb (Cruzer, 8.0 GiB) is in use: sdb1 is mounted on /. Unmount",
            ),
            (
                device(|device| device.is_read_only = true),
                "write-protected",
            ),
            (
                device(|device| device.part_of = Some("sdx".into())),
                "--output /dev/sdx",
            ),
            (
                device(|device| device.size = (3 << 30) - 1),
                "has 3221225471 bytes, and 3221225472 are needed",
            ),
        ] {
            let told = told(kind, &intent());
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(told(device(|device| device.size = 3 << 30), &intent()), "");
    }

    #[test]
    fn a_device_is_written_only_if_its_name_is_repeated() {
        let mut intent = intent();
        for (confirmed, part) in [
            (
                None,
                "Everything on /dev/sdb (Cruzer, 8.0 GiB) would be lost. If it is the right one, add --yes sdb",
            ),
            (Some("sda"), "--yes names sda, and --output is /dev/sdb"),
            (Some("sdb1"), "--yes names sdb1"),
            (Some(""), "Nothing was written"),
        ] {
            intent.confirmed = confirmed.map(str::to_owned);
            let told = told(Kind::Device(stick()), &intent);
            assert!(told.contains(part), "{told}");
        }
    }

    /// A seed's volume is found by its label, in a partition as well.
    #[test]
    fn a_volume_may_go_into_a_partition() {
        let mut intent = intent();
        intent.is_disk = false;
        let mut device = stick();
        device.part_of = Some("sdx".into());
        assert_eq!(told(Kind::Device(device), &intent), "");
    }
}
