//! The command as a whole, on files: what it writes, and that it writes nothing where it refuses.

use std::os::unix::fs::PermissionsExt;

use super::base::tests::{SIZE, image};
use super::seed::tests::usual;
use super::*;

fn asked(home: &Path) -> Write {
    Write {
        seed: home.join("seed.tar"),
        base: Some(home.join("base.img")),
        seed_data: false,
        format: Volume::SeedDataImg,
        output: home.join("out.img"),
        identity: None,
        yes: None,
        verify: None,
        progress: false,
    }
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    media::write_output(&home.path().join("seed.tar"), Format::Tar, &usual(), &[]).expect("a seed");
    image(&home.path().join("base.img"));
    home
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The file has the seed where IncusOS looks for it, and only its owner reads it (HO-SEED-02, HO-SEED-04, HO-SEED-28).
#[test]
fn an_image_with_its_seed_becomes_a_file() {
    let home = home();
    for _ in ["made", "replaced"] {
        let asked = asked(home.path());
        let report = write(&asked).expect("written");
        for part in ["the seed compared", "incus.json, install.json", "50 GiB"] {
            assert!(report.contains(part), "{report}");
        }
        let out = File::open(&asked.output).expect("a file");
        let metadata = out.metadata().expect("a file");
        assert_eq!(
            (metadata.len(), metadata.permissions().mode() & 0o777),
            (SIZE, 0o600)
        );
        let mut seed = vec![0; 8192];
        out.read_exact_at(&mut seed, 2_148_532_224).expect("a seed");
        assert_eq!(media::unpack(seed.as_slice()).expect("a seed"), usual());
        assert_eq!(names_in(home.path()), ["base.img", "out.img", "seed.tar"]);
    }
}

/// Volumes for an unmodified image, which is to be detached afterwards (HO-SEED-29).
#[test]
fn a_seed_becomes_a_volume_of_its_own() {
    let home = home();
    for (format, place, label) in [
        (Volume::SeedDataImg, 43, "SEED_DATA  "),
        (Volume::SeedDataIso, 32808, "SEED_DATA   "),
    ] {
        let mut asked = asked(home.path());
        (asked.base, asked.seed_data, asked.format) = (None, true, format);
        let report = write(&asked).expect("written");
        assert!(
            report.contains("Detach it") && report.contains("50 GiB"),
            "{report}"
        );
        let bytes = fs::read(&asked.output).expect("a file");
        assert_eq!(&bytes[place..place + label.len()], label.as_bytes());
        let mode = fs::metadata(&asked.output)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn where_it_refuses_nothing_is_written() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    fs::write(at("no.img"), "hello").expect("a file");
    fs::write(at("no.tar"), "hello").expect("a file");
    let before = names_in(home.path());
    let told = |change: &dyn Fn(&mut Write)| {
        let mut asked = asked(home.path());
        change(&mut asked);
        write(&asked).expect_err("refused").to_string()
    };
    for (told, part) in [
        (
            told(&|asked| asked.output = asked.seed.clone()),
            "which is read",
        ),
        (
            told(&|asked| asked.output = at("base.img")),
            "which is read",
        ),
        (
            told(&|asked| asked.output = home.path().to_owned()),
            "is a folder",
        ),
        (
            told(&|asked| asked.output = "/dev/zero".into()),
            "neither a file nor a disk",
        ),
        (
            told(&|asked| asked.yes = Some("sdb".into())),
            "--yes names a device",
        ),
        (
            told(&|asked| {
                asked.yes = Some("sdb".into());
                (asked.base, asked.seed_data) = (None, true);
            }),
            "--yes names a device",
        ),
        (
            told(&|asked| asked.output = at("none/out.img")),
            "Making a file beside",
        ),
        (told(&|asked| asked.base = Some(at("no.img"))), "no GPT"),
        (told(&|asked| asked.seed = at("no.tar")), "is not a seed"),
        (
            told(&|asked| asked.seed = at("none.tar")),
            "none.tar failed",
        ),
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(names_in(home.path()), before);
    assert_eq!(
        media::unpack(File::open(at("seed.tar")).expect("a file")).ok(),
        Some(usual())
    );
}

/// Between looking at a device and opening it, its name can become another's.
#[test]
fn what_was_not_judged_is_not_written() {
    let home = home();
    let file = home.path().join("base.img");
    for path in [file.as_path(), Path::new("/dev/zero")] {
        let opened = open_device(path, &super::target::tests::stick());
        let told = opened.expect_err("no stick").to_string();
        assert!(told.contains("is not sdb any more"), "{told}");
    }
}

/// A used stick has signatures of other file systems, some of them behind a small volume and some at the very end.
#[test]
fn nothing_around_a_volume_hides_it() {
    const MIB: usize = 1 << 20;
    for (size, length) in [
        (5 * MIB, 3000),
        (5 * MIB, 2 * MIB),
        (5 * MIB, 5 * MIB - 7),
        (MIB + 7, 3000),
        (MIB / 2, 3000),
        (3000, 3000),
    ] {
        let device = tempfile::tempfile().expect("a file");
        device.write_all_at(&vec![7; size], 0).expect("a file");
        volume_onto(&device, size as u64, &vec![1; length]).expect("written");
        let mut there = vec![0; size + 1];
        let read = device.read_at(&mut there, 0).expect("a file");
        assert_eq!(read, size, "nothing is behind the device");
        let (volume, rest) = there[..size].split_at(length);
        assert!(volume.iter().all(|byte| *byte == 1));
        for (byte, at) in rest.iter().zip(length..) {
            let is_edge = at < MIB || at >= size.saturating_sub(MIB);
            assert_eq!(*byte, if is_edge { 0 } else { 7 }, "{size} {length} {at}");
        }
    }
}

/// What was at the output stays when the image turns out to be cut in the midst of writing.
#[test]
fn a_file_is_replaced_only_by_a_whole_image() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    fs::write(at("out.img"), "mine").expect("a file");
    // Packed, the beginning of an image does not show that it is all there is.
    fs::write(at("base.img"), super::gpt::tests::usual(512, SIZE)).expect("a file");
    super::base::tests::pack(&at("base.img"), &at("base.img.gz"));
    let mut asked = asked(home.path());
    asked.base = Some(at("base.img.gz"));
    let told = write(&asked).expect_err("cut").to_string();
    assert!(told.contains("still there"), "{told}");
    assert_eq!(fs::read_to_string(at("out.img")).expect("a file"), "mine");
    let names = ["base.img", "base.img.gz", "out.img", "seed.tar"];
    assert_eq!(names_in(home.path()), names);
}
