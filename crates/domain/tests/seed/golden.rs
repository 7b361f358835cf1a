//! Every role and option as expected files in `tests/seeds/CASE/`, to be read like the seeds that they are.
//!
//! `UPDATE_GOLDEN=1 cargo test -p domain --test seed` writes them anew; the difference is then for a reviewer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::given::Given;
use domain::machine::{DeclaredSecurity, disk};
use domain::seed::{Declared, NEWEST_FIELDS};

use crate::fixtures::*;

fn disk(change: impl FnOnce(&mut disk::Declared)) -> Declared {
    let mut declared = disk::Declared::default();
    change(&mut declared);
    changed(smallest(), |seed| {
        seed.machine.install_disk = Given::Known(declared);
    })
}

fn security(tpm: bool, secure_boot: bool) -> Declared {
    changed(smallest(), |seed| {
        seed.machine.security = Given::Known(DeclaredSecurity {
            tpm: Given::Known(tpm),
            secure_boot: Given::Known(secure_boot),
        });
    })
}

/// All cases by the name of their directory. They are sound, so the properties start from them too.
pub(crate) fn cases() -> BTreeMap<&'static str, Declared> {
    let ca = serde_json::json!({ "custom_ca_certs": [METRICS] }).to_string();
    BTreeMap::from([
        ("none", smallest()),
        ("bootstrap", bootstrap()),
        ("bootstrap-overlay", with_overlay(bootstrap())),
        ("join", join()),
        ("join-overlay", with_overlay(join())),
        ("none-overlay", with_overlay(smallest())),
        (
            "static-without-role",
            changed(bootstrap(), |seed| seed.machine.role = Given::Absent),
        ),
        (
            "join-without-address",
            changed(join(), |seed| {
                seed.machine.network = Given::Absent;
                seed.machine.address = Given::Absent;
            }),
        ),
        (
            "address-and-dhcp",
            changed(bootstrap(), |seed| {
                seed.machine.dhcp = Given::Known(true);
                let network = inside(&mut seed.machine.network);
                (network.gateway, network.dns) = (Given::Absent, Given::Absent);
            }),
        ),
        (
            "disk-by-id",
            disk(|disk| disk.id = known("nvme-eui.0025385b")),
        ),
        (
            "disk-by-size",
            disk(|disk| {
                disk.bus = known("nvme");
                disk.min_size = known("100GB");
                disk.max_size = known("2TiB");
                disk.sort_order = known("largest");
            }),
        ),
        ("no-tpm", security(false, true)),
        ("no-secure-boot", security(true, false)),
        ("secure", security(true, true)),
        (
            "applications",
            changed(bootstrap(), |seed| {
                seed.applications = list(&["incus-lts-7.0", "gpu-support"]);
            }),
        ),
        (
            "update",
            changed(smallest(), |seed| seed.update = Given::Known(update())),
        ),
        (
            "update-every-night",
            changed(smallest(), |seed| {
                let update = inside(&mut seed.update);
                update.check_frequency = known("never");
                let mut nightly = domain::seed::DeclaredWindow::default();
                (nightly.start_hour, nightly.end_hour) = (Given::Known(1), Given::Known(5));
                update.maintenance_windows = Given::Known(vec![nightly]);
            }),
        ),
        (
            "tailscale",
            changed(join(), |seed| seed.tailscale = Given::Known(tailscale())),
        ),
        (
            "tailscale-and-services",
            changed(
                with_file(
                    "services",
                    r#"{"usbip": {"enabled": true, "targets": [{"bus_id": "1-1", "address": "192.168.1.9"}]},
                        "lvm": {"system_id": 7, "enabled": true}}"#,
                ),
                |seed| seed.tailscale = Given::Known(tailscale()),
            ),
        ),
        (
            "extra-files",
            changed(bootstrap(), |seed| {
                seed.extra_files = Given::Known(
                    [
                        ("security".to_owned(), known(&ca)),
                        (
                            "kernel".to_owned(),
                            known(r#"{"console": [{"baud_rate": 115200, "device": "ttyS0"}], "version": "1"}"#),
                        ),
                        (
                            "provider".to_owned(),
                            known(r#"{"name": "images", "config": {"server_url": "https://mirror.example.net/os", "token": null}}"#),
                        ),
                        ("services".to_owned(), Given::Absent),
                    ]
                    .into(),
                );
            }),
        ),
        (
            "newest-service",
            changed(
                with_file(
                    "services",
                    r#"{"tailscale": {"port": 41641, "enabled": true}}"#,
                ),
                |seed| seed.incusos_release = known("202701010000"),
            ),
        ),
        (
            "newest-release",
            changed(
                with_file(
                    "storage",
                    r#"{"pools": [{"name": "data", "type": "zfs-raid1", "devices": ["ata-A", "ata-B"]}]}"#,
                ),
                |seed| {
                    seed.incusos_release = known(NEWEST_FIELDS);
                    seed.tailscale = Given::Known(tailscale());
                    inside(&mut seed.tailscale).port = Given::Known(41641);
                },
            ),
        ),
    ])
}

/// HO-SEED-01, HO-SEED-06 to HO-SEED-09, HO-SEED-12 to HO-SEED-22, HO-SEED-25, HO-WG-05, HO-WG-06, HO-CFG-21.
#[test]
fn every_role_and_option_renders_what_is_written_down() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/seeds");
    let mut wrong = Vec::new();
    for (case, seed) in cases() {
        assert_eq!(seed.check(), [], "{case}");
        let folder = root.join(case);
        let rendered: BTreeMap<String, String> = seed
            .render(Some(&keys()))
            .into_iter()
            .map(|(name, text)| (name, text.known().cloned().unwrap_or_default()))
            .collect();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).expect("the directory of the case");
            for (name, text) in &rendered {
                std::fs::write(folder.join(name), text).expect("an expected file");
            }
        }
        let expected: BTreeMap<String, String> = std::fs::read_dir(&folder)
            .unwrap_or_else(|_| panic!("{case} has no expected files; UPDATE_GOLDEN=1 writes them"))
            .flatten()
            .map(|entry| {
                let text = std::fs::read_to_string(entry.path()).expect("an expected file");
                (entry.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        if rendered != expected {
            wrong.push(case);
        }
    }
    assert!(
        wrong.is_empty(),
        "rendered otherwise: {wrong:?}; UPDATE_GOLDEN=1 shows how"
    );
}
