//! ISO volumes, judged by a reader of the tests' own: it finds the files as Linux does by Rock Ridge, and as others do by
//! Joliet.

use proptest::prelude::*;

use super::*;
use crate::Format;
use crate::pack::tests::{any_files, packed, usual};

fn number(bytes: &[u8], at: usize) -> usize {
    let [a, b, c, d, e, f, g, h] = bytes[at..at + 8].try_into().expect("8 bytes");
    let number = u32::from_le_bytes([a, b, c, d]);
    assert_eq!(
        number,
        u32::from_be_bytes([e, f, g, h]),
        "both orders agree"
    );
    number as usize
}

/// The records of the root that this description names, each whole.
fn records(volume: &[u8], descriptor: usize) -> Vec<&[u8]> {
    let root = &volume[descriptor * 2048 + 156..][..34];
    let (sector, length) = (number(root, 2), number(root, 10));
    assert_eq!(root[25] & 2, 2, "the root is a folder");
    let mut records = Vec::new();
    for sector in volume[sector * 2048..][..length].chunks(2048) {
        let mut rest = sector;
        while let Some(length) = rest.first().filter(|length| **length > 0) {
            let (record, behind) = rest.split_at(usize::from(*length));
            assert_eq!(record.len() % 2, 0, "records begin at even places");
            records.push(record);
            rest = behind;
        }
    }
    assert_eq!(
        (records[0][33], records[1][33]),
        (0, 1),
        "itself and the one above"
    );
    assert_eq!(number(records[0], 2), number(root, 2));
    records.split_off(2)
}

fn identifier(record: &[u8]) -> &[u8] {
    &record[33..][..usize::from(record[32])]
}

fn text(volume: &[u8], record: &[u8]) -> String {
    let bytes = &volume[number(record, 2) * 2048..][..number(record, 10)];
    String::from_utf8(bytes.to_vec()).expect("a text")
}

fn by_joliet(volume: &[u8]) -> Files {
    let name = |record: &[u8]| -> String {
        let units = identifier(record).chunks(2);
        let units: Vec<u16> = units
            .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
            .collect();
        String::from_utf16(&units).expect("a name")
    };
    let records = records(volume, 17);
    records
        .iter()
        .map(|record| (name(record), text(volume, record)))
        .collect()
}

fn by_rock_ridge(volume: &[u8]) -> Files {
    let name = |record: &[u8]| {
        let length = identifier(record).len();
        let mut rest = &record[33 + length + (length + 1) % 2..];
        while rest.len() > 4 {
            let (field, behind) = rest.split_at(usize::from(rest[2]));
            if field.starts_with(b"NM") {
                return String::from_utf8(field[5..].to_vec()).expect("a name");
            }
            rest = behind;
        }
        panic!("a record without a name");
    };
    let records = records(volume, 16);
    records
        .iter()
        .map(|record| (name(record), text(volume, record)))
        .collect()
}

#[test]
fn the_label_is_where_readers_look() {
    let bytes = packed(&usual(), Format::SeedDataIso);
    assert_eq!(&bytes[16 * 2048..][..7], b"\x01CD001\x01");
    assert_eq!(
        &bytes[16 * 2048 + 40..][..32],
        b"SEED_DATA                       "
    );
    assert_eq!(&bytes[17 * 2048..][..7], b"\x02CD001\x01");
    assert_eq!(
        &bytes[17 * 2048 + 40..][..20],
        b"\0S\0E\0E\0D\0_\0D\0A\0T\0A\0 "
    );
    assert_eq!(&bytes[17 * 2048 + 88..][..3], b"%/E");
    assert_eq!(&bytes[18 * 2048..][..7], b"\xffCD001\x01");
    for descriptor in [16, 17] {
        let sectors = number(&bytes, descriptor * 2048 + 80);
        assert_eq!(sectors * 2048, bytes.len());
    }
    let own = &bytes[23 * 2048 + 34..];
    assert!(
        own.starts_with(b"SP\x07\x01\xbe\xef\0ER"),
        "Rock Ridge says that it is there"
    );
}

#[test]
fn path_tables_name_the_root() {
    let bytes = packed(&usual(), Format::SeedDataIso);
    for (descriptor, tables) in [(16, 19), (17, 21)] {
        let descriptor = &bytes[descriptor * 2048..];
        let root = number(descriptor, 158) as u32;
        assert_eq!(number(descriptor, 132), 10);
        assert_eq!(descriptor[140..144], u32::to_le_bytes(tables));
        assert_eq!(descriptor[148..152], u32::to_be_bytes(tables + 1));
        let table = &bytes[tables as usize * 2048..];
        assert_eq!(table[..2], [1, 0]);
        assert_eq!(table[2..6], root.to_le_bytes());
        assert_eq!(table[2048 + 2..2048 + 6], root.to_be_bytes());
    }
}

#[test]
fn records_are_in_the_order_that_readers_search_by() {
    let names = ["a-b.json", "a.json", "a.yaml", "b.json"];
    let files = names.map(|name| (name.to_owned(), name.to_owned())).into();
    let bytes = packed(&files, Format::SeedDataIso);
    let plain: Vec<&[u8]> = records(&bytes, 16).into_iter().map(identifier).collect();
    let expected = ["A.JSON;1", "A.YAML;1", "A_B.JSON;1", "B.JSON;1"];
    assert_eq!(plain, expected.map(str::as_bytes));
    let joliet: Vec<usize> = records(&bytes, 17)
        .iter()
        .map(|record| number(record, 2))
        .collect();
    let same = records(&bytes, 16)
        .iter()
        .map(|record| number(record, 2))
        .collect::<Vec<_>>();
    assert_eq!(joliet, same);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_packed_is_read_back(files in any_files()) {
        let bytes = packed(&files, Format::SeedDataIso);
        prop_assert_eq!(bytes.len() % 2048, 0);
        prop_assert_eq!(by_joliet(&bytes), files.clone());
        prop_assert_eq!(by_rock_ridge(&bytes), files);
    }
}
