//! Images are copied in both ways, by the kernel and through buffers, and differ from their base in the seed alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::*;

use super::super::base::{
    SLACK,
    tests::{SMALL, pack, small, small_image},
};
use super::*;

const SIZE: u64 = SMALL.image_size;

fn progress() -> Progress {
    Progress::begin("writing", SIZE, false)
}

fn seed(bytes: &[u8]) -> Seed<'_> {
    let at = SMALL.seed_start;
    Seed { at, bytes }
}

fn empty(path: &Path) -> File {
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    options.open(path).expect("a file")
}

/// Everything but the seed is byte for byte that of the base, whichever way it is copied. Behind the end of the new seed is
/// what an older one had there, as IncusOS's own tools leave it.
#[test]
fn an_image_differs_from_its_base_in_the_seed_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    small_image(&at("base.img"));
    pack(&at("base.img"), &at("base.img.gz"));
    let bytes = b"the seed".repeat(3000);
    let mut expected = fs::read(at("base.img")).expect("a file");
    let place = SMALL.seed_start as usize..SMALL.seed_start as usize + bytes.len();
    assert_ne!(expected[place.end], 0, "an older seed is longer");
    expected[place].copy_from_slice(&bytes);
    for (name, is_packed, is_file) in [
        ("base.img", false, true),
        ("base.img", false, false),
        ("base.img.gz", true, true),
        ("base.img.gz", true, false),
    ] {
        let base = small(&at(name), is_packed);
        let out = empty(&at("out"));
        let sink = if is_file {
            Sink::File(&out)
        } else {
            Sink::Device(&out)
        };
        let written = write(&base, seed(&bytes), sink, &mut progress());
        assert_eq!(written.expect("written"), SIZE);
        let there = fs::read(at("out")).expect("a file");
        assert!(there == expected, "{name} {is_file}");
        let used = out.metadata().expect("a file").blocks() * 512;
        assert_eq!(used < 4 << 20, is_file, "holes stay holes: {used}");
        compare_seed(seed(&bytes), &out).expect("the same");
        compare_all(&base, seed(&bytes), &out, &mut progress()).expect("the same");
    }
}

#[test]
fn reading_back_finds_what_differs_and_where() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    small_image(&at("base.img"));
    let base = small(&at("base.img"), false);
    let seed = seed(b"the seed");
    let out = empty(&at("out"));
    write(&base, seed, Sink::File(&out), &mut progress()).expect("written");
    for place in [0, (7 << 20) + 123, seed.at + 3, SIZE - 1] {
        let mut byte = [0];
        out.read_exact_at(&mut byte, place).expect("a byte");
        out.write_all_at(&[!byte[0]], place).expect("a byte");
        let all = compare_all(&base, seed, &out, &mut progress());
        let found = matches!(all, Err(CopyError::Differs { at }) if at == place);
        assert!(found, "{place}: {all:?}");
        let in_seed = compare_seed(seed, &out);
        assert_eq!(in_seed.is_err(), place == seed.at + 3, "{place}");
        out.write_all_at(&byte, place).expect("a byte");
    }
    out.set_len(SIZE - 1).expect("a file");
    let cut = compare_all(&base, seed, &out, &mut progress());
    assert!(matches!(cut, Err(CopyError::ReadBack { .. })), "{cut:?}");
}

/// A download that ended early is found out, also when it is packed: by its own check, or by the size in its table.
#[test]
fn a_packed_image_that_ends_early_is_no_image() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    small_image(&at("base.img"));
    pack(&at("base.img"), &at("whole.gz"));
    let whole = fs::read(at("whole.gz")).expect("a file");
    fs::write(at("cut.gz"), &whole[..whole.len() - 9]).expect("a file");
    let image = File::options().write(true).open(at("base.img"));
    image
        .and_then(|file| file.set_len(SIZE - 512))
        .expect("a file");
    pack(&at("base.img"), &at("short.gz"));
    for (name, part) in [
        ("cut.gz", "Reading the image"),
        ("short.gz", "is incomplete"),
    ] {
        let base = small(&at(name), true);
        let out = empty(&at("out"));
        let failed = write(&base, seed(b"the seed"), Sink::File(&out), &mut progress());
        let told = failed.expect_err(name).to_string();
        assert!(told.contains(part) && told.contains(name), "{told}");
    }
}

/// A few bytes can unpack to a full disk. What is not packed has its size, which is looked at before.
#[test]
fn a_packed_image_is_unpacked_only_as_far_as_an_image_goes() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let most = SIZE + SLACK;
    for (size, is_packed, fits) in [
        (most, true, true),
        (most + 1, true, false),
        (most + 1, false, true),
    ] {
        small_image(&at("base.img"));
        let image = File::options().write(true).open(at("base.img"));
        image.and_then(|file| file.set_len(size)).expect("a file");
        pack(&at("base.img"), &at("base.img.gz"));
        let name = if is_packed { "base.img.gz" } else { "base.img" };
        let out = empty(&at("out"));
        let written = write(
            &small(&at(name), is_packed),
            seed(b"the seed"),
            Sink::File(&out),
            &mut progress(),
        );
        let told = written.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(told.contains("unpacks to more than"), !fits, "{told}");
        assert!(out.metadata().expect("a file").len() <= size.min(most + u64::from(!is_packed)));
    }
}

/// A sink that fails ends the reading as well, and says where.
#[test]
fn a_failing_disk_is_told_with_its_place() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("base.img");
    small_image(&path);
    let out = File::open(&path).expect("not for writing");
    let base = small(&path, false);
    let failed = write(
        &base,
        seed(b"the seed"),
        Sink::Device(&out),
        &mut progress(),
    );
    assert!(
        matches!(failed, Err(CopyError::Write { at: 0, .. })),
        "{failed:?}"
    );
}

proptest! {
    /// The seed is laid over pieces of any size as over the whole.
    #[test]
    fn pieces_make_the_whole(at in 0u64..300, length in 0usize..300, piece in 1usize..120) {
        let bytes: Vec<u8> = (0..length).map(|index| index as u8 | 1).collect();
        let seed = Seed { at, bytes: &bytes };
        let mut pieces = vec![0; 400];
        for (index, piece_of) in pieces.chunks_mut(piece).enumerate() {
            lay(seed, (index * piece) as u64, piece_of);
        }
        let mut whole = vec![0; 400];
        lay(seed, 0, &mut whole);
        prop_assert_eq!(&pieces, &whole);
        let end = (at as usize + length).min(400);
        prop_assert_eq!(&whole[(at as usize).min(400)..end], &bytes[..end - (at as usize).min(400)]);
    }
}
