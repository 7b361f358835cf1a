//! The seed as it comes from a file or a pipe: opened if it is encrypted, and checked before anything is written.
//!
//! Before: `homelab_seed` wrote it, or somebody's own `tar`. After: the files, which `copy.rs` writes as an archive of our
//! own. A seed of many bytes is held in memory as a whole; its partition has 100 MiB, and a usual one some kilobytes. No
//! error repeats anything of it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use domain::seed::file_names;
use media::{CipherError, Files, Identities, IdentitiesError, UnpackError};

/// What `--seed` gives for standard input.
const STANDARD_INPUT: &str = "-";

/// Why there is no seed to write.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedError {
    #[error("Opening the seed {path} failed")]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("Reading the identity file {path} failed")]
    Identity {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("The identity file {path} is not valid")]
    Identities {
        path: PathBuf,
        #[source]
        source: IdentitiesError,
    },
    #[error("The seed {path} could not be opened; --identity FILE names what it is encrypted to")]
    Decrypt {
        path: PathBuf,
        #[source]
        source: CipherError,
    },
    #[error("{path} is not a seed")]
    Unpack {
        path: PathBuf,
        #[source]
        source: UnpackError,
    },
    #[error(
        "The seed {path} has a file `{name}`, which IncusOS does not look for; expected names among {}",
        file_names().join(", ")
    )]
    Unknown { path: PathBuf, name: String },
    #[error(
        "The file `{name}` of the seed {path} is not a JSON object (line {line}, column {column})"
    )]
    NotJson {
        path: PathBuf,
        name: String,
        line: usize,
        column: usize,
    },
    #[error(
        "The file `{name}` of the seed {path} is empty, which IncusOS accepts of `install` only"
    )]
    Empty { path: PathBuf, name: String },
}

/// Reads the seed to its end and checks it.
pub(crate) fn read(path: &Path, identity: Option<&Path>) -> Result<Files, SeedError> {
    let reader: Box<dyn Read> = if path == Path::new(STANDARD_INPUT) {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path).map_err(|source| SeedError::Open {
            path: path.to_owned(),
            source,
        })?;
        Box::new(file)
    };
    let identities = identity.map(identities).transpose()?;
    let opened = media::decrypt(reader, identities.as_ref());
    let opened = opened.map_err(|source| SeedError::Decrypt {
        path: path.to_owned(),
        source,
    })?;
    let files = media::unpack(opened).map_err(|source| SeedError::Unpack {
        path: path.to_owned(),
        source,
    })?;
    check(path, &files)?;
    Ok(files)
}

fn identities(path: &Path) -> Result<Identities, SeedError> {
    let text = fs::read_to_string(path).map_err(|source| SeedError::Identity {
        path: path.to_owned(),
        source,
    })?;
    Identities::parse(&text).map_err(|source| SeedError::Identities {
        path: path.to_owned(),
        source,
    })
}

/// Finds what IncusOS would overlook or stumble over, as far as it shows without knowing each field.
fn check(path: &Path, files: &Files) -> Result<(), SeedError> {
    for (name, text) in files {
        let (path, name) = (path.to_owned(), name.clone());
        let stem = name.split('.').next().unwrap_or_default();
        if !file_names().contains(&stem) {
            return Err(SeedError::Unknown { path, name });
        }
        if text.trim().is_empty() {
            if stem == "install" {
                continue;
            }
            return Err(SeedError::Empty { path, name });
        }
        if !name.ends_with(".json") {
            continue;
        }
        let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
        if let Err(error) = read {
            // The library's own words quote what they found.
            return Err(SeedError::NotJson {
                path,
                name,
                line: error.line(),
                column: error.column(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A seed as it usually is.
    pub(crate) fn usual() -> Files {
        [
            ("install.json", "{\"version\":\"1\"}"),
            ("incus.json", "{\"apply_defaults\":false}"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
    }

    fn packed(files: &Files) -> Vec<u8> {
        let mut bytes = Vec::new();
        media::pack(files, media::Format::Tar, &mut bytes).expect("a seed");
        bytes
    }

    /// A pair that age's own pages show.
    const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
    const IDENTITY: &str =
        "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";

    /// Plain and encrypted seeds are told apart by themselves (HO-SEED-28).
    #[test]
    fn a_seed_is_read_plain_and_encrypted() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::write(at("identity"), format!("# mine\n{IDENTITY}\n")).expect("a file");
        let recipient = [RECIPIENT.parse().expect("a recipient")];
        for (name, recipients) in [("seed.tar", [].as_slice()), ("seed.tar.age", &recipient)] {
            media::write_output(&at(name), media::Format::Tar, &usual(), recipients).expect(name);
            let read = read(&at(name), Some(&at("identity")));
            assert_eq!(read.expect(name), usual());
        }
        let refused = read(&at("seed.tar.age"), None).expect_err("no identity");
        assert!(refused.to_string().contains("--identity FILE"), "{refused}");
    }

    #[test]
    fn what_is_no_seed_is_refused_and_not_repeated() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        let one = |name: &str, text: &str| packed(&Files::from([(name.into(), text.into())]));
        for (bytes, parts) in [
            (b"secret".to_vec(), ["is not a seed", "seed"]),
            (
                one("secrets.json", "{}"),
                ["`secrets.json`", "applications, incus, install"],
            ),
            (
                one("incus.json", "{\"secret\": secret}"),
                ["`incus.json`", "line 1, column 12"],
            ),
            (
                one("incus.json", "\"secret\""),
                ["`incus.json`", "JSON object"],
            ),
            (
                one("update.json", " \n"),
                ["`update.json`", "`install` only"],
            ),
        ] {
            fs::write(at("seed"), bytes).expect("a file");
            let refused = read(&at("seed"), None).expect_err(parts[0]);
            let told = refused.to_string();
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
            assert!(
                !told.replace("secrets.json", "").contains("secret"),
                "{told}"
            );
        }
        for (name, bytes) in [("install.json", ""), ("update.yaml", "channel: stable")] {
            fs::write(at("seed"), one(name, bytes)).expect("a file");
            assert!(read(&at("seed"), None).is_ok(), "{name}");
        }
    }

    #[test]
    fn files_that_are_missing_or_wrong_are_named() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        let told = |seed: &str, identity: Option<&str>| {
            let identity = identity.map(at);
            let refused = read(&at(seed), identity.as_deref()).expect_err(seed);
            refused.to_string()
        };
        assert!(told("none.tar", None).contains("none.tar"));
        fs::write(at("seed"), packed(&usual())).expect("a file");
        assert!(told("seed", Some("none")).contains("identity file"));
        fs::write(at("identity"), &IDENTITY[..60]).expect("a file");
        let told = told("seed", Some("identity"));
        assert!(told.contains("identity is not valid") && !told.contains(&IDENTITY[20..60]));
    }
}
