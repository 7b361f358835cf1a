//! `homelabctl cert new`: the two certificates that a deployment begins with, before there is any machine (HO-SEED-11).
//!
//! The break-glass certificate is the operator's own: every seed trusts it. The joiner's is trusted only by machines that
//! will join. Their public halves go into `homelab_seed`; the private ones stay where the operator puts them. After:
//! `incus::certificate` makes the pairs. Not here: the certificates that seeds mint for themselves.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use incus::certificate::{self, Pair, SelfSignedError, Wanted};
use jiff::Timestamp;

/// Each is a file with `.crt` and one with `.key`, and the end of the certificate's name.
const CERTIFICATES: [&str; 2] = ["break-glass", "joiner"];
/// What X.509 allows (ub-common-name of RFC 5280).
const LONGEST_COMMON_NAME: usize = 64;

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct New {
    /// The deployment's name; the certificates are called NAME-break-glass and NAME-joiner
    #[arg(long, value_parser = name)]
    name: String,
    /// The folder for the four files, which is made if it is missing
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
    /// How long the certificates count, such as 8760h; ten years by default, since nothing renews them
    #[arg(long, value_name = "DURATION", default_value = "87600h", value_parser = validity)]
    validity: Duration,
}

/// Why there are no new certificates. Whatever was written before the failure is gone again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertError {
    #[error("Making the folder {folder} failed")]
    Folder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{path} is there already, and a key that was given away cannot be made again: choose another folder with --output, or \
         move the old files away"
    )]
    Exists { path: PathBuf },
    #[error("Making the certificate {name} failed")]
    Make {
        name: String,
        #[source]
        source: SelfSignedError,
    },
    #[error("Writing {path} failed")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn name(text: &str) -> Result<String, String> {
    let longest = CERTIFICATES.iter().map(|kind| kind.len() + 1).max();
    let most = LONGEST_COMMON_NAME - longest.unwrap_or_default();
    let length = text.chars().count();
    if (1..=most).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "it has {length} characters; expected 1 to {most}, without control characters"
    ))
}

fn validity(text: &str) -> Result<Duration, String> {
    match domain::duration::parse(text) {
        Ok(validity) if validity >= Duration::from_secs(3600) => Ok(validity),
        Ok(_) => Err("expected at least 1h".to_owned()),
        Err(error) => Err(format!("the duration {error}; expected one such as 8760h")),
    }
}

/// Makes the certificates, and says what they are known by.
pub(crate) fn new(new: &New) -> Result<String, CertError> {
    made(new, Timestamp::now().into())
}

fn made(new: &New, now: SystemTime) -> Result<String, CertError> {
    let folder = &new.output;
    let files = CERTIFICATES
        .map(|kind| ["key", "crt"].map(|ending| folder.join(format!("{kind}.{ending}"))));
    if let Some(path) = files
        .iter()
        .flatten()
        .find(|path| path.symlink_metadata().is_ok())
    {
        let path = path.to_owned();
        return Err(CertError::Exists { path });
    }
    let mut report = format!("Wrote four files to {}:\n", folder.display());
    let mut pairs = Vec::new();
    for kind in CERTIFICATES {
        let common_name = format!("{}-{kind}", new.name);
        let pair = self_signed(&common_name, new.validity, now)?;
        report.push_str(&format!(
            "  {kind}.crt, {kind}.key   SHA-256 {}\n",
            pair.fingerprint
        ));
        pairs.push(pair);
    }
    report.push_str("Keep the .key files secret; the .crt files are what seeds trust.");

    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|source| CertError::Folder {
        folder: folder.clone(),
        source,
    })?;
    let mut written: Vec<&Path> = Vec::new();
    for (pair, [key, certificate]) in pairs.iter().zip(&files) {
        for (path, text, mode) in [
            (key, &pair.private_key, 0o600),
            (certificate, &pair.certificate, 0o644),
        ] {
            if let Err(error) = write(path, text, mode) {
                // Half a set of keys would be taken for a whole one, and would stand in the way of the next attempt.
                written.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(error);
            }
            written.push(path);
        }
    }
    Ok(report)
}

fn self_signed(name: &str, validity: Duration, now: SystemTime) -> Result<Pair, CertError> {
    let wanted = Wanted {
        common_name: name.to_owned(),
        validity,
        now,
    };
    certificate::self_signed(&wanted).map_err(|source| CertError::Make {
        name: name.to_owned(),
        source,
    })
}

/// Writes a file that was not there before.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertError> {
    create(path, mode, |file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
}

/// Makes a file that was not there before, and leaves none if filling it fails.
fn create(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), CertError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let written = file.and_then(|mut file| {
        // Only from here on the file is ours to remove.
        fill(&mut file).inspect_err(|_| drop(fs::remove_file(path)))
    });
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CertError::Exists {
            path: path.to_owned(),
        },
        _ => CertError::Write {
            path: path.to_owned(),
            source,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use incus::{Fingerprint, Identity};

    use super::*;

    fn wanted(output: &Path) -> New {
        New {
            name: "home".into(),
            output: output.to_owned(),
            validity: Duration::from_secs(7200),
        }
    }

    /// Both pairs are what servers are shown, and the report says what Incus lists them by (HO-SEED-11).
    #[test]
    fn a_deployment_begins_with_two_certificates() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("keys/home");
        let report = new(&wanted(&folder)).expect("certificates");
        let mut fingerprints = Vec::new();
        for kind in CERTIFICATES {
            let path = |ending| folder.join(format!("{kind}.{ending}"));
            let text = |ending| fs::read_to_string(path(ending)).expect("a file");
            let mode = |ending| {
                let metadata = fs::metadata(path(ending)).expect("a file");
                metadata.permissions().mode() & 0o777
            };
            assert_eq!(mode("key"), 0o600);
            let identity = Identity::from_pem(Some(&text("crt")), Some(&text("key")));
            let identity = identity.expect("the key fits").expect("an identity");
            assert!(
                report.contains(&identity.fingerprint().to_string()),
                "{report}"
            );
            assert!(!report.contains("PRIVATE"), "{report}");
            fingerprints.push(identity.fingerprint());
        }
        assert_ne!(fingerprints[0], fingerprints[1]);
        let metadata = fs::metadata(&folder).expect("a folder");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_is_half_done() {
        for name in [
            "break-glass.key",
            "break-glass.crt",
            "joiner.key",
            "joiner.crt",
        ] {
            let home = tempfile::tempdir().expect("a folder");
            fs::write(home.path().join(name), "mine").expect("a file");
            let refused = new(&wanted(home.path())).expect_err(name).to_string();
            assert!(
                refused.contains(name) && refused.contains("--output"),
                "{refused}"
            );
            let names = fs::read_dir(home.path()).expect("a folder").count();
            assert_eq!(names, 1);
            let text = fs::read_to_string(home.path().join(name)).expect("a file");
            assert_eq!(text, "mine");
        }
    }

    /// A full disk leaves no half of a key, and nobody else's file goes with it.
    #[test]
    fn a_file_that_cannot_be_filled_is_removed_again() {
        let home = tempfile::tempdir().expect("a folder");
        let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
        fs::write(&theirs, "mine").expect("a file");
        let fill = |file: &mut File| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        for (path, expected, part) in [
            (&ours, None, "Writing"),
            (&theirs, Some("mine"), "there already"),
        ] {
            let told = create(path, 0o600, fill).expect_err(part).to_string();
            assert!(told.contains(part), "{told}");
            assert_eq!(fs::read_to_string(path).ok().as_deref(), expected);
        }
    }

    #[test]
    fn each_time_there_are_other_certificates() {
        let home = tempfile::tempdir().expect("a folder");
        let fingerprints = ["a", "b"].map(|folder| {
            let folder = home.path().join(folder);
            new(&wanted(&folder)).expect("certificates");
            let text = fs::read_to_string(folder.join("joiner.crt")).expect("a file");
            Fingerprint::of_pem(&text).expect("a certificate")
        });
        assert_ne!(fingerprints[0], fingerprints[1]);
    }

    #[test]
    fn names_and_validities_have_limits() {
        assert!(name("Käthe's home").is_ok() && name(&"n".repeat(52)).is_ok());
        for text in ["", "a\nb", &"n".repeat(53)] {
            let refused = name(text).expect_err(text);
            assert!(refused.contains("expected 1 to 52"), "{refused}");
        }
        assert_eq!(validity("1h30m"), Ok(Duration::from_secs(5400)));
        for text in ["59m", "ten years", "-1h", ""] {
            let refused = validity(text).expect_err(text);
            assert!(refused.contains("expected"), "{refused}");
        }
    }
}
