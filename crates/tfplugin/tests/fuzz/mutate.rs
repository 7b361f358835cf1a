//! Damage: what turns a good input into one that is nearly good.

use crate::rng::Rng;

/// Inputs do not grow beyond this: what goes wrong goes wrong in little.
pub(crate) const LONGEST: usize = 4096;

/// Bytes that begin something in MessagePack or in JSON, and claims that nothing pays for.
const TOKENS: [&[u8]; 28] = [
    &[0xc0],
    &[0xc1],
    &[0x80],
    &[0x90],
    &[0x91],
    &[0x92],
    &[0xd4, 0, 0],
    &[0xc7, 3, 12, 0x81, 1, 0xc2],
    &[0xdd, 0xff, 0xff, 0xff, 0xff],
    &[0xdf, 0xff, 0xff, 0xff, 0xff],
    &[0xdb, 0xff, 0xff, 0xff, 0xff],
    &[0xc6, 0xff, 0xff, 0xff, 0xff],
    &[0xc9, 0xff, 0xff, 0xff, 0xff],
    &[0xdc, 0xff, 0xff],
    &[0xcb, 0, 0, 0, 0, 0, 0, 0, 1],
    &[0xca, 0, 0, 0, 1],
    &[
        0x92, 0xc4, 9, b'"', b'd', b'y', b'n', b'a', b'm', b'i', b'c', b'"',
    ],
    b"\x92\xc4\x12[\"list\",\"dynamic\"]\x91",
    b"null",
    b"[",
    b"]",
    b"{\"a\":",
    b"}",
    b"\"\\ud800\"",
    b"e1000000000",
    b"[\"list\",",
    b"[\"object\",{\"a\":",
    b"{\"type\":\"dynamic\",\"value\":",
];

/// Damages the bytes once, perhaps with a part of another input.
pub(crate) fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = rng.below(bytes.len() + 1);
    let end = (at + 1 + rng.small(16)).min(bytes.len());
    match rng.below(10) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.byte()),
        2 => drop(bytes.drain(at..end.max(at))),
        3 => splice(bytes, at, at, rng.pick(&TOKENS)),
        4 => splice(bytes, at, end.max(at), rng.pick(&TOKENS)),
        // Nesting, or a long run.
        5 => {
            let part = bytes[at..end.max(at)].repeat(1 + rng.small(120));
            splice(bytes, at, at, &part);
        }
        6 => {
            let from = rng.below(other.len() + 1);
            let to = (from + rng.small(64)).min(other.len());
            splice(bytes, at, end.max(at), &other[from..to]);
        }
        7 if at < bytes.len() => bytes[at] = rng.byte(),
        8 if at < bytes.len() => {
            bytes[at] = bytes[at].wrapping_add(rng.pick(&[&1, &255]).to_owned())
        }
        _ if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        _ => bytes.push(rng.byte()),
    }
    bytes.truncate(LONGEST);
}

fn splice(bytes: &mut Vec<u8>, from: usize, to: usize, part: &[u8]) {
    drop(bytes.splice(from..to, part.iter().copied()));
}
