//! Encryption of a seed with [age](https://age-encryption.org): to recipients, and with their identities back.
//!
//! Before: a packed seed is streamed in. After: `output.rs` or a pipe takes the ciphertext. Only X25519 keys are used, the
//! ones that `age-keygen` makes; no passphrases, since nobody is there to type them.
//!
//! What fails says nothing of keys: causes from the library are named in our own words.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::str::FromStr;

use age::stream::{StreamReader, StreamWriter};
use age::{DecryptError, Decryptor, Encryptor, x25519};

/// How every encrypted file begins, in each version of the format.
const MAGIC: &[u8] = b"age-encryption.org/";
const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";

/// Whom a seed is encrypted to: the public half of a pair that `age-keygen` makes.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient(x25519::Recipient);

/// Why a text is no recipient.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipientError {
    /// The wrong half was given. It is not repeated.
    #[error(
        "an age identity (`AGE-SECRET-KEY-…`) was given where a recipient is expected: give its public half, `age1…`, which \
         `age-keygen -y` prints, and keep the other one secret"
    )]
    Identity,
    /// It is something else.
    #[error(
        "`{text}` is not an age recipient: expected `age1` and 58 lower-case letters and digits, as `age-keygen` prints it"
    )]
    Other {
        /// The beginning of the text.
        text: String,
    },
}

/// The private halves that encrypted seeds are opened with. It has no `Debug`.
pub struct Identities(Vec<x25519::Identity>);

/// Why a text holds no identities. No message repeats anything of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentitiesError {
    /// A line is something else.
    #[error(
        "line {line} of the identity file is not an age identity: expected `AGE-SECRET-KEY-1…`, as `age-keygen` prints it, a \
         comment that begins with `#`, or nothing"
    )]
    Line {
        /// Which line, counted from one.
        line: usize,
    },
    /// There are only comments.
    #[error("the identity file has no identity in it: expected a line `AGE-SECRET-KEY-1…`")]
    Empty,
}

/// Why encryption does not begin, or a seed is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CipherError {
    /// Nobody could read it again.
    #[error("there is no recipient to encrypt the seed to")]
    NoRecipients,
    /// The sink took nothing.
    #[error("the encrypted seed could not be written")]
    Write(#[source] io::Error),
    /// It ended too early.
    #[error("the seed could not be read")]
    Read(#[source] io::Error),
    /// It is encrypted, and nobody said with what.
    #[error("the seed is encrypted, and no identity was given to open it with")]
    IdentityMissing,
    /// It is encrypted to others.
    #[error("the seed is encrypted to other recipients than the given identities, or is damaged")]
    NotForUs,
    /// It was written as text.
    #[error(
        "the seed is encrypted and in text form; expected the binary form, which age writes without `--armor`"
    )]
    Armored,
    /// Its header is damaged, or of a version to come.
    #[error("the seed is encrypted in a form that is not known, or is damaged")]
    Unreadable,
}

impl FromStr for Recipient {
    type Err = RecipientError;

    fn from_str(text: &str) -> Result<Self, RecipientError> {
        if text.to_ascii_uppercase().contains("AGE-SECRET-KEY-") {
            return Err(RecipientError::Identity);
        }
        let recipient = text.parse().map_err(|_| RecipientError::Other {
            text: text.chars().take(80).collect(),
        })?;
        Ok(Self(recipient))
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Identities {
    /// Reads the text of an identity file: one identity a line, comments with `#`, as `age-keygen` writes it.
    pub fn parse(text: &str) -> Result<Self, IdentitiesError> {
        let mut identities = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let refused = IdentitiesError::Line { line: index + 1 };
            identities.push(line.parse().map_err(|_| refused)?);
        }
        if identities.is_empty() {
            return Err(IdentitiesError::Empty);
        }
        Ok(Self(identities))
    }
}

/// Takes plaintext and passes ciphertext on. Without [`Encrypting::finish`] what was passed on cannot be opened.
pub struct Encrypting<W: Write>(StreamWriter<W>);

impl<W: Write> Encrypting<W> {
    /// Passes the last of it on, and gives the sink back.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for Encrypting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Begins to encrypt what is written into the answer, so that each of the recipients can open it (HO-SEED-28).
pub fn encrypt<W: Write>(recipients: &[Recipient], sink: W) -> Result<Encrypting<W>, CipherError> {
    let recipients = recipients
        .iter()
        .map(|recipient| &recipient.0 as &dyn age::Recipient);
    let encryptor =
        Encryptor::with_recipients(recipients).map_err(|_| CipherError::NoRecipients)?;
    let writer = encryptor.wrap_output(sink).map_err(CipherError::Write)?;
    Ok(Encrypting(writer))
}

/// A seed in plain text, wherever it came from. What was encrypted is complete only when it was read to its end.
pub struct Opened<R: Read>(Source<R>);

enum Source<R: Read> {
    Plain(BufReader<R>),
    Encrypted(StreamReader<BufReader<R>>),
}

impl<R: Read> Opened<R> {
    /// Whether it came encrypted.
    pub fn was_encrypted(&self) -> bool {
        matches!(self.0, Source::Encrypted(_))
    }
}

impl<R: Read> Read for Opened<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::Plain(reader) => reader.read(bytes),
            Source::Encrypted(reader) => reader.read(bytes),
        }
    }
}

/// Opens a seed that may be encrypted, and passes on one that is not.
pub fn decrypt<R: Read>(
    reader: R,
    identities: Option<&Identities>,
) -> Result<Opened<R>, CipherError> {
    let mut reader = BufReader::new(reader);
    // A file fills the buffer at once. A pipe may give less than the magic at first; age itself writes its header at once.
    let beginning = reader.fill_buf().map_err(CipherError::Read)?;
    if beginning.starts_with(ARMOR) {
        return Err(CipherError::Armored);
    }
    if !beginning.starts_with(MAGIC) {
        return Ok(Opened(Source::Plain(reader)));
    }
    let identities = identities.ok_or(CipherError::IdentityMissing)?;
    let identities = identities
        .0
        .iter()
        .map(|identity| identity as &dyn age::Identity);
    let decryptor = Decryptor::new_buffered(reader).map_err(in_our_words)?;
    let reader = decryptor.decrypt(identities).map_err(in_our_words)?;
    Ok(Opened(Source::Encrypted(reader)))
}

fn in_our_words(error: DecryptError) -> CipherError {
    match error {
        DecryptError::Io(error) => CipherError::Read(error),
        DecryptError::NoMatchingKeys
        | DecryptError::DecryptionFailed
        | DecryptError::KeyDecryptionFailed
        | DecryptError::ExcessiveWork { .. } => CipherError::NotForUs,
        // The library may name further ones, all of them about the header.
        _ => CipherError::Unreadable,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use age::secrecy::ExposeSecret;
    use proptest::prelude::*;

    use super::*;

    /// A pair as its owner has it: the recipient, and the text of the identity.
    pub(crate) fn pair() -> (Recipient, String) {
        let identity = x25519::Identity::generate();
        let text = identity.to_string().expose_secret().to_owned();
        (Recipient(identity.to_public()), text)
    }

    fn encrypted(recipients: &[Recipient], plaintext: &[u8]) -> Vec<u8> {
        let mut writer = encrypt(recipients, Vec::new()).expect("recipients");
        writer.write_all(plaintext).expect("a buffer takes it");
        writer.finish().expect("a buffer takes it")
    }

    fn opened(bytes: &[u8], identity: &str) -> Result<Vec<u8>, String> {
        let identities = Identities::parse(identity).map_err(|error| error.to_string())?;
        let opened = decrypt(bytes, Some(&identities)).map_err(|error| error.to_string())?;
        let mut opened = opened;
        let mut plaintext = Vec::new();
        let read = opened.read_to_end(&mut plaintext);
        read.map_err(|error| error.to_string())?;
        Ok(plaintext)
    }

    /// An identity and its recipient as age's own pages show them: what we read is what age writes.
    #[test]
    fn recipients_are_those_of_age() {
        let text = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
        let identity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
        let recipient: Recipient = text.parse().expect("a recipient");
        assert_eq!(
            (recipient.to_string(), format!("{recipient:?}")),
            (text.into(), text.into())
        );
        let bytes = encrypted(&[recipient], b"seed");
        assert_eq!(opened(&bytes, identity), Ok(b"seed".to_vec()));
    }

    #[test]
    fn what_is_no_recipient_is_told_what_is_one() {
        let (recipient, identity) = pair();
        let cut = recipient.to_string()[..61].to_owned();
        for text in ["", "ssh-ed25519 AAAA", "age1", &cut] {
            let error = text.parse::<Recipient>().expect_err(text).to_string();
            assert!(
                error.contains(text) && error.contains("`age1` and 58"),
                "{error}"
            );
        }
        for text in [identity.clone(), identity.to_lowercase()] {
            let error = text.parse::<Recipient>().expect_err("a secret");
            assert_eq!(error, RecipientError::Identity);
            assert!(
                !format!("{error} {error:?}")
                    .to_uppercase()
                    .contains(&identity)
            );
        }
    }

    #[test]
    fn identity_files_are_read_as_age_keygen_writes_them() {
        let (recipient, identity) = pair();
        let bytes = encrypted(&[recipient], b"seed");
        let (_, other) = pair();
        let file = format!("# created: 2026-01-01\n# public key: age1\n\n{other}\r\n {identity}\n");
        assert_eq!(opened(&bytes, &file), Ok(b"seed".to_vec()));
        for (text, error) in [
            (
                format!("{identity}\nsecret"),
                IdentitiesError::Line { line: 2 },
            ),
            (identity[..70].to_owned(), IdentitiesError::Line { line: 1 }),
            ("# nothing\n\n".to_owned(), IdentitiesError::Empty),
            (String::new(), IdentitiesError::Empty),
        ] {
            let refused = Identities::parse(&text).err().expect("no identities");
            assert_eq!(refused, error);
            assert!(!format!("{refused} {refused:?}").contains(&identity[20..70]));
        }
    }

    /// Every recipient opens it, nobody else does, and nothing of the plaintext is in it (HO-SEED-28).
    #[test]
    fn only_recipients_open_a_seed() {
        let marker = b"a marker that is in the plaintext";
        let plaintext = marker.repeat(5000);
        let ((first, first_identity), (second, second_identity)) = (pair(), pair());
        let bytes = encrypted(&[first, second], &plaintext);
        assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
        assert!(!bytes.windows(marker.len()).any(|window| window == marker));
        for identity in [first_identity, second_identity] {
            assert_eq!(opened(&bytes, &identity).as_ref(), Ok(&plaintext));
        }
        let stranger = opened(&bytes, &pair().1).expect_err("not encrypted to it");
        assert!(stranger.contains("other recipients"), "{stranger}");
        let nobody = decrypt(bytes.as_slice(), None).err().expect("no identity");
        assert!(matches!(nobody, CipherError::IdentityMissing));
        let none = encrypt(&[], Vec::new()).err().expect("no recipients");
        assert!(matches!(none, CipherError::NoRecipients));
    }

    #[test]
    fn what_is_not_encrypted_is_passed_on() {
        for plaintext in [b"".as_slice(), b"age", b"a tar archive"] {
            let mut opened = decrypt(plaintext, None).expect("plain");
            let mut read = Vec::new();
            opened.read_to_end(&mut read).expect("plain");
            assert!(!opened.was_encrypted());
            assert_eq!(read, plaintext);
        }
        let armored = decrypt(ARMOR, None).err().expect("armored");
        assert!(armored.to_string().contains("--armor"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// A damaged or shortened ciphertext is never taken for the whole.
        #[test]
        fn damage_is_noticed(length in 0usize..70_000, place: usize, bit in 0u8..8) {
            let (recipient, identity) = pair();
            let plaintext = vec![b'x'; length];
            let mut bytes = encrypted(&[recipient], &plaintext);
            prop_assert_eq!(opened(&bytes, &identity), Ok(plaintext.clone()));
            let place = place % bytes.len();
            let cut = opened(&bytes[..place], &identity);
            prop_assert_ne!(cut, Ok(plaintext.clone()));
            bytes[place] ^= 1 << bit;
            let damaged = opened(&bytes, &identity);
            prop_assert_ne!(damaged, Ok(plaintext));
        }
    }
}
