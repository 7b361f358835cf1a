//! Which image of a list a name stands for.

use super::*;

const LIST: &str = r#"{"format": "products:1.0", "products": {
  "debian:13:amd64": {"aliases": "debian/13/default,debian/13", "arch": "amd64", "os": "Debian", "versions": {
    "20261101_05:24": {"items": {
      "incus.tar.xz": {"ftype": "incus.tar.xz", "sha256": "01", "combined_squashfs_sha256": "02",
                       "combined_rootxz_sha256": "03", "combined_disk-kvm-img_sha256": "04"},
      "root.squashfs": {"ftype": "squashfs", "sha256": "05"},
      "root.tar.xz": {"ftype": "root.tar.xz", "sha256": "06"},
      "disk.qcow2": {"ftype": "disk-kvm.img", "sha256": "07"}}},
    "20261129_05:24": {"items": {
      "incus.tar.xz": {"ftype": "incus.tar.xz", "sha256": "11", "combined_squashfs_sha256": "12",
                       "combined_rootxz_sha256": "13"},
      "root.squashfs": {"ftype": "squashfs", "sha256": "15"},
      "root.tar.xz": {"ftype": "root.tar.xz", "sha256": "16"}}},
    "snapshot": {"items": {"incus_combined.tar.gz": {"ftype": "incus_combined.tar.gz", "sha256": "99"}}}}},
  "debian:13:arm64": {"aliases": "debian/13", "arch": "arm64", "versions": {
    "20261129": {"items": {
      "incus.tar.xz": {"ftype": "incus.tar.xz", "combined_sha256": "23", "combined_squashfs_sha256": "24"},
      "root.tar.xz": {"ftype": "root.tar.xz", "sha256": "26"}}}}},
  "app:amd64": {"aliases": "app", "arch": "amd64", "versions": {
    "20261129": {"items": {"incus_combined.tar.gz": {"ftype": "incus_combined.tar.gz", "sha256": "31"}}}}},
  "odd": {"aliases": "", "arch": "amd64", "versions": {"": {}}}}}"#;

fn chosen(name: Name<'_>, is_vm: bool, architecture: &str) -> Result<String, Error> {
    let list: Products = serde_json::from_str(LIST).expect("a list");
    let wanted = Wanted {
        name,
        is_vm,
        architecture,
    };
    choose(list.products.values(), &wanted).map(|found| found.fingerprint)
}

#[test]
fn a_name_stands_for_the_newest_image_of_the_architecture() {
    for (alias, is_vm, architecture, expected) in [
        ("debian/13", false, "x86_64", "12"),
        ("debian/13/default", false, "x86_64", "12"),
        ("debian/13", true, "x86_64", "04"),
        ("debian/13", false, "aarch64", "23"),
        ("debian/13/arm64", false, "x86_64", "23"),
        ("app", false, "x86_64", "31"),
    ] {
        let found = chosen(Name::Alias(alias), is_vm, architecture).expect("an image");
        assert_eq!(found, expected, "{alias} {is_vm} {architecture}");
    }
}

#[test]
fn what_no_list_has_is_not_found() {
    for (alias, is_vm, architecture) in [
        ("debian/14", false, "x86_64"),
        ("", false, "x86_64"),
        ("debian", false, "x86_64"),
        ("app", true, "x86_64"),
        ("app", false, "aarch64"),
    ] {
        let error = chosen(Name::Alias(alias), is_vm, architecture).expect_err("no image");
        assert!(error.is_not_found(), "{alias}: {error}");
    }
}

#[test]
fn a_fingerprint_stands_for_itself() {
    let found = |text| chosen(Name::Fingerprint(text), false, "x86_64");
    assert_eq!(found("03").expect("an older one"), "03");
    assert!(found("99").expect_err("none with a date").is_not_found());
    let several = found("0").expect_err("more than one");
    assert!(matches!(several, Error::Ambiguous { .. }), "{several}");
}
