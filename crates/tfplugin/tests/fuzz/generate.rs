//! Inputs by the grammar: types, and for each its values as MessagePack and as JSON, in all the ways of writing them.
//!
//! Most of what is made here is accepted, which is what gets a fuzzer behind the first check. `mutate.rs` damages it.

use std::collections::BTreeMap;

use tfplugin::Type;

use crate::rng::Rng;

/// A type, of any kind at the top and simpler ones inside.
pub(crate) fn a_type(rng: &mut Rng, depth: usize) -> Type {
    let kinds = if depth == 0 { 4 } else { 9 };
    match rng.below(kinds) {
        0 => Type::Bool,
        1 => Type::Number,
        2 => Type::String,
        3 => Type::Dynamic,
        4 => Type::list(a_type(rng, depth - 1)),
        5 => Type::set(a_type(rng, depth - 1)),
        6 => Type::map(a_type(rng, depth - 1)),
        7 => {
            let members = (0..rng.small(6)).map(|_| (text(rng), a_type(rng, depth - 1)));
            Type::Object(members.collect::<BTreeMap<_, _>>())
        }
        _ => Type::Tuple((0..rng.small(4)).map(|_| a_type(rng, depth - 1)).collect()),
    }
}

/// One value in another and so on, about as deep as may be: its type, and it as MessagePack and as JSON.
pub(crate) fn deep(rng: &mut Rng) -> (Type, Vec<u8>, Vec<u8>) {
    let levels = 90 + rng.below(20);
    let of = (0..levels).fold(Type::Number, |of, _| match rng.below(3) {
        0 => Type::list(of),
        1 => Type::set(of),
        _ => Type::Tuple(vec![of]),
    });
    let packed = [vec![0x91; levels], vec![7]].concat();
    let text = format!("{}7{}", "[".repeat(levels), "]".repeat(levels));
    (of, packed, text.into_bytes())
}

/// A set of sets of sets, each of two, as MessagePack: what is slow to compare, if anything is.
pub(crate) fn bushy(rng: &mut Rng, levels: usize, out: &mut Vec<u8>) -> Type {
    let leaves = 1usize << levels;
    for leaf in 0..leaves {
        // A level begins wherever its number of leaves divides the position.
        let begins = (leaf | leaves).trailing_zeros() as usize;
        out.extend(std::iter::repeat_n(0x92, begins));
        out.push(rng.byte() & 1);
    }
    (0..levels).fold(Type::Number, |of, _| Type::set(of))
}

/// A value as MessagePack, with every length and number in any of its forms.
pub(crate) fn msgpack(rng: &mut Rng, of: &Type, depth: usize, out: &mut Vec<u8>) {
    match rng.below(16) {
        0 => return out.push(0xc0),
        1 => return unknown(rng, out),
        _ => {}
    }
    match of {
        Type::Bool => out.push(0xc2 | rng.byte() & 1),
        Type::Number => packed_number(rng, out),
        Type::String => {
            let text = text(rng);
            packed_text(rng, &text, out);
        }
        Type::List(element) | Type::Set(element) => {
            let length = some(rng, out.len());
            header(rng, length, 0x90, 16, &[0xdc, 0xdd], out);
            (0..length).for_each(|_| msgpack(rng, element, depth, out));
        }
        Type::Tuple(types) => {
            header(rng, types.len(), 0x90, 16, &[0xdc, 0xdd], out);
            types.iter().for_each(|of| msgpack(rng, of, depth, out));
        }
        Type::Map(element) => {
            let length = some(rng, out.len());
            header(rng, length, 0x80, 16, &[0xde, 0xdf], out);
            for _ in 0..length {
                let key = text(rng);
                packed_text(rng, &key, out);
                msgpack(rng, element, depth, out);
            }
        }
        Type::Object(types) => {
            header(rng, types.len(), 0x80, 16, &[0xde, 0xdf], out);
            for (name, of) in types {
                packed_text(rng, name, out);
                msgpack(rng, of, depth, out);
            }
        }
        Type::Dynamic => {
            let own = a_type(rng, depth.saturating_sub(1));
            let description = own.to_json().to_string();
            header(rng, 2, 0x90, 16, &[0xdc, 0xdd], out);
            match rng.below(3) {
                0 if description.len() < 256 => out.extend([0xc4, description.len() as u8]),
                1 => {
                    out.push(0xc5);
                    out.extend((description.len() as u16).to_be_bytes());
                }
                _ => {
                    out.push(0xc6);
                    out.extend((description.len() as u32).to_be_bytes());
                }
            }
            out.extend(description.as_bytes());
            msgpack(rng, &own, depth.saturating_sub(1), out);
        }
    }
}

/// How many elements: none any more when there is enough already, for what goes wrong goes wrong in little.
fn some(rng: &mut Rng, written: usize) -> usize {
    if written > 200 { 0 } else { rng.small(20) }
}

fn unknown(rng: &mut Rng, out: &mut Vec<u8>) {
    let length = rng.small(40);
    match rng.below(4) {
        // Bare, as it is mostly sent.
        0 => return out.extend([0xd4, 0, 0]),
        // With refinements: kind 12, a map in it.
        1 => return out.extend([0xc7, 3, 12, 0x81, 1, 0xc2]),
        2 => out.extend([0xc8, 0, length as u8, rng.byte()]),
        _ => out.extend([0xc9, 0, 0, 0, length as u8, rng.byte()]),
    }
    out.extend((0..length).map(|_| rng.byte()));
}

fn packed_number(rng: &mut Rng, out: &mut Vec<u8>) {
    let bits = rng.next() >> rng.below(64);
    match rng.below(12) {
        0 => out.push(bits as u8 & 0x7f),
        1 => out.push(0xe0 | bits as u8),
        2 => out.extend([0xcc | rng.byte() & 4, bits as u8]),
        3 => out.extend([0xcd | rng.byte() & 4, bits as u8, rng.byte()]),
        4 => {
            out.push(0xce);
            out.extend((bits as u32).to_be_bytes());
        }
        5 => {
            out.push(0xd2);
            out.extend((bits as u32).to_be_bytes());
        }
        6 => {
            out.push(0xcf);
            out.extend(bits.to_be_bytes());
        }
        7 => {
            out.push(0xd3);
            out.extend(rng.next().to_be_bytes());
        }
        8 => {
            out.push(0xca);
            out.extend((rng.next() as u32).to_be_bytes());
        }
        9 => {
            out.push(0xcb);
            out.extend(rng.next().to_be_bytes());
        }
        10 => {
            out.push(0xcb);
            out.extend((bits as f64 / 1024.0).to_be_bytes());
        }
        _ => {
            let digits = number(rng);
            packed_text(rng, &digits, out);
        }
    }
}

fn packed_text(rng: &mut Rng, text: &str, out: &mut Vec<u8>) {
    if text.len() < 256 && rng.one_in(4) {
        out.extend([0xd9, text.len() as u8]);
    } else {
        header(rng, text.len(), 0xa0, 32, &[0xda, 0xdb], out);
    }
    out.extend(text.as_bytes());
}

/// A length in one of the forms that can hold it.
fn header(
    rng: &mut Rng,
    length: usize,
    small: u8,
    end: usize,
    larger: &[u8; 2],
    out: &mut Vec<u8>,
) {
    match rng.below(8) {
        0 => {
            out.push(larger[1]);
            out.extend((length as u32).to_be_bytes());
        }
        1..7 if length < end => out.push(small | length as u8),
        _ => {
            out.push(larger[0]);
            out.extend((length as u16).to_be_bytes());
        }
    }
}

/// A value as JSON.
pub(crate) fn json(rng: &mut Rng, of: &Type, depth: usize, out: &mut String) {
    if rng.one_in(12) {
        return out.push_str("null");
    }
    match of {
        Type::Bool => out.push_str(rng.pick(&["true", "false"])),
        Type::Number => {
            let digits = number(rng);
            let quotes = rng.one_in(4);
            out.push_str(&if quotes { quoted(rng, &digits) } else { digits });
        }
        Type::String => {
            let text = text(rng);
            out.push_str(&quoted(rng, &text));
        }
        Type::List(element) | Type::Set(element) => {
            let length = some(rng, out.len());
            array(rng, (0..length).map(|_| &**element), depth, out);
        }
        Type::Tuple(types) => array(rng, types.iter(), depth, out),
        Type::Map(element) => {
            let keys = 0..some(rng, out.len());
            let keys: Vec<String> = keys.map(|_| text(rng)).collect();
            object(rng, keys.iter().map(|key| (&**key, &**element)), depth, out);
        }
        Type::Object(types) => {
            // One that an older schema did not have is not there; one too many is of no concern.
            let kept: Vec<(&String, &Type)> = types.iter().filter(|_| !rng.one_in(10)).collect();
            object(
                rng,
                kept.into_iter().map(|(name, of)| (&**name, of)),
                depth,
                out,
            );
        }
        Type::Dynamic => {
            let own = a_type(rng, depth.saturating_sub(1));
            out.push_str(&format!(r#"{{"type":{},"value":"#, own.to_json()));
            json(rng, &own, depth.saturating_sub(1), out);
            out.push('}');
        }
    }
}

fn array<'t>(rng: &mut Rng, types: impl Iterator<Item = &'t Type>, depth: usize, out: &mut String) {
    out.push('[');
    for (index, of) in types.enumerate() {
        out.push_str(if index == 0 {
            ""
        } else {
            rng.pick(&[",", " , "])
        });
        json(rng, of, depth, out);
    }
    out.push(']');
}

fn object<'t>(
    rng: &mut Rng,
    members: impl Iterator<Item = (&'t str, &'t Type)>,
    depth: usize,
    out: &mut String,
) {
    out.push('{');
    for (index, (name, of)) in members.enumerate() {
        out.push_str(if index == 0 {
            ""
        } else {
            rng.pick(&[",", "\n,\t"])
        });
        out.push_str(&quoted(rng, name));
        out.push(':');
        json(rng, of, depth, out);
    }
    out.push('}');
}

fn quoted(rng: &mut Rng, text: &str) -> String {
    if rng.one_in(4) {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        return format!("\"{}\"", units.collect::<String>());
    }
    serde_json::Value::from(text).to_string()
}

/// A text: a name mostly, and now and then one that Unicode makes interesting or that is long.
pub(crate) fn text(rng: &mut Rng) -> String {
    match rng.below(8) {
        0 => String::new(),
        1 => rng
            .pick(&[
                "e\u{301}",
                "\u{1d160}",
                "\u{ac00}\u{11a8}",
                "\u{0}\"\\",
                "\u{1f600}",
                "\u{212b}",
            ])
            .to_owned(),
        2 => "x".repeat(rng.small(300)),
        3 => number(rng),
        _ => rng
            .pick(&["a", "b", "name", "id", "type", "value", "1h30m"])
            .to_owned(),
    }
}

/// A number as it may be written.
pub(crate) fn number(rng: &mut Rng) -> String {
    let digits = |rng: &mut Rng, most| -> String {
        (0..=rng.small(most))
            .map(|_| char::from(b'0' + rng.below(10) as u8))
            .collect()
    };
    let sign = rng.pick(&["", "", "-", "+"]);
    let whole = digits(rng, 30);
    let fraction = if rng.one_in(3) {
        format!(".{}", digits(rng, 40))
    } else {
        String::new()
    };
    let exponent = match rng.below(8) {
        0 => format!("e{}{}", rng.pick(&["", "-", "+"]), digits(rng, 3)),
        1 => format!("E{}", digits(rng, 12)),
        2 => rng
            .pick(&[
                "e1000000000",
                "e-1000000000",
                "e1000000001",
                "e308",
                "e-324",
            ])
            .to_owned(),
        _ => String::new(),
    };
    format!("{sign}{whole}{fraction}{exponent}")
}

/// A duration as it may be written.
pub(crate) fn duration(rng: &mut Rng) -> String {
    let parts = (0..rng.small(5)).map(|_| {
        let number = number(rng);
        let number = number.split(['e', 'E']).next().unwrap_or_default();
        let number = number.trim_start_matches(['-', '+']);
        let unit = rng.pick(&["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h", ""]);
        format!("{}{unit}", &number[..number.len().min(12)])
    });
    parts.collect()
}
