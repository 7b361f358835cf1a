//! Values as MessagePack, led by their type: the encoding in which hosts and providers exchange them.
//!
//! Before this file stands `wire/dynamic.rs`, after it `value.rs`. Written by hand rather than through a general
//! library, because the type decides what each byte means (a string may be a number) and no length that the bytes claim
//! may be believed. The conventions are the host's: extension types are unknown values, whatever is in them; a value of
//! dynamic type is a pair of its type's JSON and itself; objects hold exactly their attributes.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::decode::{DecodeError, Place};
use crate::value::normalise;
use crate::{Number, PathStep, Type, Value};

/// Decodes a value that fills the bytes to the last.
pub(crate) fn decode(bytes: &[u8], of: &Type) -> Result<Value, DecodeError> {
    let mut reader = Reader { rest: bytes };
    let values = Cell::new(0);
    let value = reader.value(of, Place::outermost(&values))?;
    if !reader.rest.is_empty() {
        return Err(DecodeError::new("bytes follow behind its end"));
    }
    Ok(value)
}

/// Encodes a value that conforms to its type (see `conform.rs`); what does not is encoded as what it is.
pub(crate) fn encode(value: &Value, of: &Type) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_value(&mut bytes, value, of);
    bytes
}

/// What the next item is, with its length where it has one. Nothing behind the length has been read.
enum Item {
    Nil,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(usize),
    Binary(usize),
    Array(usize),
    Map(usize),
    Extension(usize),
}

impl Item {
    fn noun(&self) -> &'static str {
        match self {
            Item::Nil => "null",
            Item::Bool(_) => "a bool",
            Item::Signed(_) | Item::Unsigned(_) | Item::Float(_) => "a number",
            Item::Text(_) => "a string",
            Item::Binary(_) => "bytes",
            Item::Array(_) => "an array",
            Item::Map(_) => "a map",
            Item::Extension(_) => "an unknown value",
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn value(&mut self, of: &Type, place: Place<'_>) -> Result<Value, DecodeError> {
        let place = place.next()?;
        match (of, self.item()?) {
            (_, Item::Nil) => Ok(Value::Null),
            (_, Item::Extension(length)) => {
                self.take(length)?;
                Ok(Value::Unknown)
            }
            (Type::Bool, Item::Bool(truth)) => Ok(Value::Bool(truth)),
            (Type::Number, Item::Signed(number)) => Ok(Value::from(number)),
            (Type::Number, Item::Unsigned(number)) => Ok(Value::from(number)),
            (Type::Number, Item::Float(number)) => Number::from_f64(number)
                .map(Value::Number)
                .ok_or_else(|| DecodeError::new("infinite numbers are not supported")),
            (Type::Number, Item::Text(length)) => Number::parse(self.text(length)?)
                .map(Value::Number)
                .map_err(|error| DecodeError::new(error.to_string())),
            (Type::String, Item::Text(length)) => {
                Ok(Value::String(normalise(self.text(length)?.to_owned())))
            }
            (Type::List(element), Item::Array(length)) => Ok(Value::List(self.elements(
                length,
                |_| Some(element),
                place,
            )?)),
            (Type::Set(element), Item::Array(length)) => Ok(Value::Set(self.elements(
                length,
                |_| Some(element),
                place,
            )?)),
            (Type::Tuple(types), Item::Array(length)) if length == types.len() => Ok(Value::List(
                self.elements(length, |index| types.get(index), place)?,
            )),
            (Type::Map(element), Item::Map(length)) => {
                Ok(Value::Map(self.map(length, element, place)?))
            }
            (Type::Object(types), Item::Map(length)) => {
                Ok(Value::Object(self.object(length, types, place)?))
            }
            (Type::Dynamic, Item::Array(2)) => self.dynamic(place),
            (_, item) => Err(DecodeError::new(format!(
                "expected {}, found {}",
                of.noun(),
                item.noun()
            ))),
        }
    }

    fn elements<'t>(
        &mut self,
        length: usize,
        type_of: impl Fn(usize) -> Option<&'t Type>,
        place: Place<'_>,
    ) -> Result<Vec<Value>, DecodeError> {
        // The length is only a claim, so nothing is reserved for it. An array that is too short ends in an error.
        let mut elements = Vec::new();
        for index in 0..length {
            let of = type_of(index).ok_or_else(|| DecodeError::new("it has too many elements"))?;
            let element = self.value(of, place);
            elements.push(element.map_err(|error| error.inside(|| PathStep::Index(index as i64)))?);
        }
        Ok(elements)
    }

    fn map(
        &mut self,
        length: usize,
        element: &Type,
        place: Place<'_>,
    ) -> Result<BTreeMap<String, Value>, DecodeError> {
        let mut members = BTreeMap::new();
        for _ in 0..length {
            let key = normalise(self.key()?.to_owned());
            let member = self
                .value(element, place)
                .map_err(|error| error.inside(|| PathStep::Key(key.clone())))?;
            members.insert(key, member);
        }
        Ok(members)
    }

    fn object(
        &mut self,
        length: usize,
        types: &BTreeMap<String, Type>,
        place: Place<'_>,
    ) -> Result<BTreeMap<String, Value>, DecodeError> {
        let mut members = BTreeMap::new();
        for _ in 0..length {
            let name = self.key()?;
            let at = || PathStep::Attribute(name.to_owned());
            let of = types
                .get(name)
                .ok_or_else(|| DecodeError::new("there is no such attribute").inside(at))?;
            let member = self.value(of, place).map_err(|error| error.inside(at))?;
            members.insert(name.to_owned(), member);
        }
        if members.len() != types.len() {
            let problem = format!(
                "expected an object with {} attributes, found {}",
                types.len(),
                members.len()
            );
            return Err(DecodeError::new(problem));
        }
        Ok(members)
    }

    /// The pair of a type and a value; its two elements are still to be read.
    fn dynamic(&mut self, place: Place<'_>) -> Result<Value, DecodeError> {
        let description = match self.item()? {
            Item::Binary(length) | Item::Text(length) => self.take(length)?,
            item => {
                return Err(DecodeError::new(format!(
                    "expected a type's description, found {}",
                    item.noun()
                )));
            }
        };
        let of = serde_json::from_slice(description)
            .ok()
            .and_then(|json| Type::from_json(&json).ok())
            .ok_or_else(|| DecodeError::new("its description of a type describes none"))?;
        let value = self.value(&of, place)?;
        Ok(Value::Dynamic(Box::new(of), Box::new(value)))
    }

    fn key(&mut self) -> Result<&'a str, DecodeError> {
        match self.item()? {
            Item::Text(length) => self.text(length),
            item => Err(DecodeError::new(format!(
                "expected a key, found {}",
                item.noun()
            ))),
        }
    }

    fn text(&mut self, length: usize) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.take(length)?)
            .map_err(|_| DecodeError::new("a text is not in UTF-8"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| DecodeError::new("the bytes end in the middle of it"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn length<const N: usize>(&mut self) -> Result<usize, DecodeError> {
        let bytes: [u8; N] = self.array()?;
        // At most four bytes, so nothing is lost.
        Ok(bytes
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    /// The table of MessagePack's first bytes.
    fn item(&mut self) -> Result<Item, DecodeError> {
        let [first] = self.array()?;
        let item = match first {
            0x00..=0x7f => Item::Unsigned(first.into()),
            0x80..=0x8f => Item::Map(usize::from(first & 0x0f)),
            0x90..=0x9f => Item::Array(usize::from(first & 0x0f)),
            0xa0..=0xbf => Item::Text(usize::from(first & 0x1f)),
            0xc0 => Item::Nil,
            0xc1 => return Err(DecodeError::new("a byte stands where no value can begin")),
            0xc2 => Item::Bool(false),
            0xc3 => Item::Bool(true),
            0xc4 => Item::Binary(self.length::<1>()?),
            0xc5 => Item::Binary(self.length::<2>()?),
            0xc6 => Item::Binary(self.length::<4>()?),
            // The length does not count the byte that tells the extension's kind; no kind matters here.
            0xc7 => Item::Extension(self.length::<1>()? + 1),
            0xc8 => Item::Extension(self.length::<2>()? + 1),
            0xc9 => Item::Extension(self.length::<4>()?.saturating_add(1)),
            0xca => Item::Float(f32::from_be_bytes(self.array()?).into()),
            0xcb => Item::Float(f64::from_be_bytes(self.array()?)),
            0xcc => Item::Unsigned(u8::from_be_bytes(self.array()?).into()),
            0xcd => Item::Unsigned(u16::from_be_bytes(self.array()?).into()),
            0xce => Item::Unsigned(u32::from_be_bytes(self.array()?).into()),
            0xcf => Item::Unsigned(u64::from_be_bytes(self.array()?)),
            0xd0 => Item::Signed(i8::from_be_bytes(self.array()?).into()),
            0xd1 => Item::Signed(i16::from_be_bytes(self.array()?).into()),
            0xd2 => Item::Signed(i32::from_be_bytes(self.array()?).into()),
            0xd3 => Item::Signed(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => Item::Extension((1 << (first - 0xd4)) + 1),
            0xd9 => Item::Text(self.length::<1>()?),
            0xda => Item::Text(self.length::<2>()?),
            0xdb => Item::Text(self.length::<4>()?),
            0xdc => Item::Array(self.length::<2>()?),
            0xdd => Item::Array(self.length::<4>()?),
            0xde => Item::Map(self.length::<2>()?),
            0xdf => Item::Map(self.length::<4>()?),
            0xe0..=0xff => Item::Signed(i8::from_be_bytes([first]).into()),
        };
        Ok(item)
    }
}

fn write_value(bytes: &mut Vec<u8>, value: &Value, of: &Type) {
    match value {
        Value::Null => bytes.push(0xc0),
        // An extension of kind 0 with one byte: unknown, with nothing more to say about it.
        Value::Unknown => bytes.extend([0xd4, 0, 0]),
        Value::Bool(truth) => bytes.push(if *truth { 0xc3 } else { 0xc2 }),
        Value::Number(number) => write_number(bytes, number),
        Value::String(text) => write_text(bytes, text),
        Value::List(elements) | Value::Set(elements) => {
            write_header(bytes, elements.len(), 0x90, 15, [0xdc, 0xdd]);
            for (index, element) in elements.iter().enumerate() {
                write_value(bytes, element, element_type(of, index));
            }
        }
        Value::Map(members) | Value::Object(members) => {
            write_header(bytes, members.len(), 0x80, 15, [0xde, 0xdf]);
            for (name, member) in members {
                write_text(bytes, name);
                write_value(bytes, member, member_type(of, name));
            }
        }
        Value::Dynamic(own, value) if *of == Type::Dynamic => {
            bytes.push(0x92);
            let description = own.to_json().to_string();
            bytes.push(0xc6);
            bytes.extend((description.len() as u32).to_be_bytes());
            bytes.extend(description.as_bytes());
            write_value(bytes, value, own);
        }
        Value::Dynamic(own, value) => write_value(bytes, value, own),
    }
}

fn element_type(of: &Type, index: usize) -> &Type {
    match of {
        Type::List(element) | Type::Set(element) => element,
        Type::Tuple(types) => types.get(index).unwrap_or(of),
        _ => of,
    }
}

fn member_type<'a>(of: &'a Type, name: &str) -> &'a Type {
    match of {
        Type::Map(element) => element,
        Type::Object(types) => types.get(name).unwrap_or(of),
        _ => of,
    }
}

/// Whole numbers travel as such; all others as their digits, which the host reads exactly.
fn write_number(bytes: &mut Vec<u8>, number: &Number) {
    if let Some(number) = number.as_u64() {
        match number {
            // Below 128 the number is its own first byte.
            0..128 => bytes.push(number as u8),
            _ => {
                bytes.push(0xcf);
                bytes.extend(number.to_be_bytes());
            }
        }
    } else if let Some(number) = number.as_i64() {
        bytes.push(0xd3);
        bytes.extend(number.to_be_bytes());
    } else {
        write_text(bytes, number.as_str());
    }
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    if (32..256).contains(&text.len()) {
        // Only texts have a form with a length of one byte.
        bytes.extend([0xd9, text.len() as u8]);
    } else {
        write_header(bytes, text.len(), 0xa0, 31, [0xda, 0xdb]);
    }
    bytes.extend(text.as_bytes());
}

/// The first byte holds a small length itself; larger ones follow in two or four bytes. Messages end at 256 MiB, so
/// every length fits into four.
fn write_header(
    bytes: &mut Vec<u8>,
    length: usize,
    small: u8,
    largest_small: usize,
    larger: [u8; 2],
) {
    if length <= largest_small {
        bytes.push(small | length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        bytes.push(larger[0]);
        bytes.extend(length.to_be_bytes());
    } else {
        bytes.push(larger[1]);
        bytes.extend((length as u32).to_be_bytes());
    }
}

#[cfg(test)]
#[path = "msgpack_tests.rs"]
mod tests;
