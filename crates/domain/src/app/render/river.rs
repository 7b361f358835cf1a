//! The syntax of Alloy's configuration, as far as it is written here: texts, and blocks of lines.
//!
//! Before: `alloy.rs`. After: a file. Whatever a user declares becomes a literal between quotation marks, so nothing in it
//! can end the literal, or the line that it stands in.

use core::fmt::Write as _;

/// A text as a literal.
///
/// Letters, digits and marks of ASCII stand for themselves, but for `"` and `\`; all else is escaped by its number, which
/// needs no table of names.
pub(super) fn quote(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        let number = u32::from(letter);
        // Writing into a String cannot fail.
        let _ = match letter {
            '"' | '\\' => write!(literal, "\\{letter}"),
            ' '..='~' => write!(literal, "{letter}"),
            _ if number <= 0xFFFF => write!(literal, "\\u{number:04X}"),
            _ => write!(literal, "\\U{number:08X}"),
        };
    }
    literal.push('"');
    literal
}

/// A list of expressions.
pub(super) fn list(expressions: &[String]) -> String {
    format!("[{}]", expressions.join(", "))
}

/// A block and what stands in it, indented.
pub(super) fn block(head: &str, lines: &[String]) -> String {
    let mut text = format!("{head} {{\n");
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        let _ = writeln!(text, "  {line}");
    }
    text.push('}');
    text
}

/// An assignment.
pub(super) fn set(name: &str, expression: &str) -> String {
    format!("{name} = {expression}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a literal at the start of a text, as Alloy's scanner does, and returns it with the rest.
    fn read(text: &str) -> Option<(String, &str)> {
        let mut letters = text.strip_prefix('"')?.chars();
        let mut read = String::new();
        loop {
            match letters.next()? {
                '"' => return Some((read, letters.as_str())),
                '\n' => return None,
                '\\' => {
                    let digits = match letters.next()? {
                        mark @ ('"' | '\\') => {
                            read.push(mark);
                            continue;
                        }
                        'u' => 4,
                        'U' => 8,
                        _ => return None,
                    };
                    let number: String = letters.by_ref().take(digits).collect();
                    let number = u32::from_str_radix(&number, 16).ok()?;
                    read.push(char::from_u32(number)?);
                }
                letter => read.push(letter),
            }
        }
    }

    proptest! {
        /// HO-OBS-05: a literal is read as what was written, and ends where it ends.
        #[test]
        fn nothing_breaks_out_of_a_literal(text in "\\PC*|[\\x00-\\x1f\"\\\\{}u ]*|.*") {
            let literal = quote(&text);
            let followed = format!("{literal} }}");
            prop_assert_eq!(read(&followed), Some((text, " }")));
            prop_assert!(literal.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
    }

    #[test]
    fn blocks_are_indented() {
        let inner = block("basic_auth", &[set("username", &quote("a\"\nb"))]);
        let outer = block("endpoint", &[set("url", &quote("http://x")), inner]);
        assert_eq!(
            outer,
            "endpoint {\n  url = \"http://x\"\n  basic_auth {\n    username = \"a\\\"\\u000Ab\"\n  }\n}"
        );
    }
}
