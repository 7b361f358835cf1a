//! The ephemeral resource: a new key, which hangs in the provider's folder as long as it is open.
//!
//! Opening makes a key and hangs it up, renewing notes that it is still wanted, closing takes it down. A plan opens one, and its
//! apply another: whoever needs the same twice has to keep it elsewhere.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tfplugin::{
    Attribute, Call, Diagnostic, Diagnostics, EphemeralResource, Opened, Renewed, Schema, Value,
    parse_duration, validate_duration,
};

use crate::provider::Folder;

/// The kind of keys.
pub(crate) struct Keys {
    folder: Folder,
}

impl Keys {
    /// Hangs them up in this folder.
    pub(crate) fn new(folder: Folder) -> Keys {
        Keys { folder }
    }

    /// Where a key hangs. What is private says which one it is, and how long it lasts.
    fn hook(&self, private: &[u8]) -> Result<(PathBuf, String), Diagnostic> {
        let private = String::from_utf8_lossy(private);
        let (name, lasts) = private.split_once(' ').unwrap_or((&private, ""));
        Ok((self.folder.path()?.join(name), lasts.to_owned()))
    }

    fn make(&self, config: &Value) -> Result<(Value, Vec<u8>), Diagnostic> {
        let (name, value) = (random()?, random()?);
        let lasts = config.attr("lasts").as_str().unwrap_or_default();
        let private = format!(".key-{name} {lasts}").into_bytes();
        let (hook, _) = self.hook(&private)?;
        // The world has the key itself; what the host is told is sensitive, and the host keeps it nowhere.
        std::fs::write(hook, format!("{value}\n")).map_err(|error| failed("hung up", &error))?;
        let mut result = config.clone();
        result.set_attr("value", value);
        Ok((result, private))
    }
}

/// Half of what it lasts is a good time to renew.
fn renew_at(lasts: &str) -> Option<Timestamp> {
    let half = parse_duration(lasts).ok()? / 2;
    let moment = Timestamp::now().checked_add(SignedDuration::try_from(half).ok()?);
    moment.ok()
}

fn random() -> Result<String, Diagnostic> {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed("cut", &error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn failed(what: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(format!("The key could not be {what}")).detail(error.to_string())
}

#[async_trait]
impl EphemeralResource for Keys {
    fn schema(&self) -> Schema {
        Schema::new(0, "A key that fits any box.").attributes([
            Attribute::string("lasts")
                .optional()
                .validate(validate_duration)
                .describe("How long it lasts before it has to be renewed; for ever when left out."),
            Attribute::string("value")
                .computed()
                .sensitive()
                .describe("The key."),
        ])
    }

    async fn open(&self, config: Value, call: &Call) -> Opened {
        if let Err(diagnostic) = self.folder.reach(call).await {
            return Opened::failed(diagnostic);
        }
        match self.make(&config) {
            Ok((result, private)) => Opened {
                private,
                renew_at: config.attr("lasts").as_str().and_then(renew_at),
                ..Opened::new(result)
            },
            Err(diagnostic) => Opened::failed(diagnostic),
        }
    }

    async fn renew(&self, private: Vec<u8>, call: &Call) -> Renewed {
        let reached = self.folder.reach(call).await;
        let renewed = reached
            .and_then(|()| self.hook(&private))
            .and_then(|(hook, lasts)| {
                let file = std::fs::OpenOptions::new().append(true).open(hook);
                let written = file.and_then(|mut file| file.write_all(b"renewed\n"));
                written.map_err(|error| failed("renewed", &error))?;
                Ok(renew_at(&lasts))
            });
        let (renew_at, diagnostics) = match renewed {
            Ok(moment) => (moment, Diagnostics::new()),
            Err(diagnostic) => (None, diagnostic.into()),
        };
        Renewed {
            private,
            renew_at,
            diagnostics,
        }
    }

    async fn close(&self, private: Vec<u8>, call: &Call) -> Diagnostics {
        let reached = self.folder.reach(call).await;
        let closed = reached
            .and_then(|()| self.hook(&private))
            .and_then(|(hook, _)| match std::fs::remove_file(hook) {
                // One that is closed twice is closed.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(failed("taken down", &error))
                }
                _ => Ok(()),
            });
        closed.err().map(Diagnostics::from).unwrap_or_default()
    }
}
