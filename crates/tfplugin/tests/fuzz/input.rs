//! What is tried: a target, the type that it is told, and bytes; each as a line of text too.
//!
//! The line is what a failure prints, what `vectors.txt` holds, and what is on disk while an input is tried.

use tfplugin::Type;

/// A decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// A value as hosts send it.
    Msgpack,
    /// A value as it is stored.
    Json,
    /// A stored state of the present schema, of `stored.rs`.
    Stored,
    /// A stored state of an older schema, which goes through the resource's upgrade.
    Older,
    /// The description of a type.
    Type,
    /// A number.
    Number,
    /// A duration as Go spells it.
    Duration,
}

impl Target {
    pub(crate) const ALL: [Target; 7] = [
        Target::Msgpack,
        Target::Json,
        Target::Stored,
        Target::Older,
        Target::Type,
        Target::Number,
        Target::Duration,
    ];

    /// Whether it is told which type to expect.
    pub(crate) fn takes_type(self) -> bool {
        matches!(self, Target::Msgpack | Target::Json)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Msgpack => "msgpack",
            Target::Json => "json",
            Target::Stored => "stored",
            Target::Older => "older",
            Target::Type => "type",
            Target::Number => "number",
            Target::Duration => "duration",
        }
    }
}

/// One thing to try.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) target: Target,
    /// `dynamic` for a target that is told none.
    pub(crate) of: Type,
    pub(crate) bytes: Vec<u8>,
}

impl Input {
    /// `target`, the type's description and the bytes, with blanks between them.
    pub(crate) fn to_line(&self) -> String {
        let (target, of) = (self.target.name(), self.of.to_json());
        format!(
            "{target} {} {}",
            escape(&of.to_string()),
            self.bytes.escape_ascii()
        )
    }

    pub(crate) fn from_line(line: &str) -> Option<Input> {
        let (target, rest) = line.split_once(' ')?;
        let (of, bytes) = rest.split_once(' ')?;
        let target = Target::ALL
            .into_iter()
            .find(|known| known.name() == target)?;
        let of = serde_json::from_slice(&unescape(of)?).ok()?;
        Some(Input {
            target,
            of: Type::from_json(&of).ok()?,
            bytes: unescape(bytes)?,
        })
    }
}

/// A type's description has blanks only in the names of attributes.
fn escape(description: &str) -> String {
    let escaped = description.as_bytes().escape_ascii().to_string();
    escaped.replace(' ', "\\x20")
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            itself => itself,
        });
    }
    Some(bytes)
}

#[test]
fn an_input_reads_back_from_its_line() {
    let input = Input {
        target: Target::Json,
        of: Type::object([("a b", Type::list(Type::Number))]),
        bytes: (0..=255).collect(),
    };
    let read = Input::from_line(&input.to_line()).expect("an input");
    assert_eq!((read.of, read.bytes), (input.of, input.bytes));
}
