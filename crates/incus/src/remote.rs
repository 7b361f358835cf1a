//! A remote of the user's own Incus client: where it is, who we are there, and whom to expect.
//!
//! Before this comes a name that an operator gave; after it `client.rs` is made with what was found.
//! Files are read, nothing is sent, and nothing of a key is ever repeated in a message.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::certificate::Fingerprint;
use crate::endpoint::{DEFAULT_FOLDER, Endpoint, EndpointError};
use crate::identity::{Identity, IdentityError};
use crate::trust::Trust;

/// The remote that the client knows without being told: the server on this machine.
const LOCAL: &str = "local";

/// Where a remote is, and how it is reached.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Where it answers.
    pub endpoint: Endpoint,
    /// What to show there, and the certificate that the client knows the server by. That the user accepted it once names a
    /// cluster; it does not say that another one, which a state was made on, is given up.
    pub trust: Trust,
}

/// The folders that the client keeps its configuration in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The user's own.
    pub user: PathBuf,
    /// The machine's, whose remotes every user has.
    pub global: PathBuf,
    /// The socket of the server on this machine.
    pub socket: PathBuf,
}

/// Why a remote cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// A file is there and cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The configuration is not what the client writes. Its own words may quote what is in it.
    #[error("{} is no configuration of an Incus client", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// There is no such remote.
    #[error("{} has no remote {name:?}; {}", path.display(), Known(known))]
    Unknown {
        /// The name.
        name: String,
        /// The user's configuration.
        path: PathBuf,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The remote serves images.
    #[error(
        "the remote {name:?} is an image server (its protocol is {protocol}), not an Incus server"
    )]
    ImageServer {
        /// The name.
        name: String,
        /// What it speaks.
        protocol: String,
    },
    /// The client logs in there in a way that needs a person.
    #[error("the remote {name:?} is used with {auth_type}; only `tls` works without a person")]
    LogIn {
        /// The name.
        name: String,
        /// How the client logs in.
        auth_type: String,
    },
    /// The address is none.
    #[error("the remote {name:?} has an address that cannot be used")]
    Address {
        /// The name.
        name: String,
        /// Why.
        #[source]
        cause: EndpointError,
    },
    /// The client has no certificate yet.
    #[error(
        "there is no client certificate for the remote {name:?}: neither {} nor {} exists",
        Both(own),
        Both(shared)
    )]
    NoCertificate {
        /// The name.
        name: String,
        /// The remote's own certificate would be here.
        own: PathBuf,
        /// The one for all remotes would be here.
        shared: PathBuf,
    },
    /// Certificate and key cannot be used.
    #[error("{} and its key cannot be used", path.display())]
    Identity {
        /// The certificate.
        path: PathBuf,
        /// Why.
        #[source]
        cause: IdentityError,
    },
    /// The server's certificate is kept, and is none.
    #[error("{} is not the certificate of a server", path.display())]
    ServerCertificate {
        /// The file.
        path: PathBuf,
    },
}

/// `config.yml`, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    remotes: BTreeMap<String, Written>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    addr: String,
    auth_type: String,
    protocol: String,
    public: bool,
}

impl Folders {
    /// The folders that the client itself would use, given the variables of its environment. None without a home.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = || set("HOME").map(|home| home.join(".config"));
        let shared = || set("XDG_CONFIG_HOME").or_else(home);
        let folder = set("INCUS_DIR").unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
        Some(Self {
            user: set("INCUS_CONF").or_else(|| Some(shared()?.join("incus")))?,
            global: set("INCUS_GLOBAL_CONF").unwrap_or_else(|| PathBuf::from("/etc/incus")),
            socket: set("INCUS_SOCKET").unwrap_or_else(|| folder.join("unix.socket")),
        })
    }

    /// Finds a remote. What is shown there is `given`, or else what the client itself shows.
    ///
    /// # Errors
    ///
    /// It is not there, or is none that a program can use.
    pub fn remote(&self, name: &str, given: Option<Identity>) -> Result<Remote, RemoteError> {
        let mut known = BTreeSet::new();
        for folder in [&self.user, &self.global] {
            let mut file = read_config(folder)?;
            if let Some(written) = file.remotes.remove(name) {
                return self.found(name, given, &written, folder);
            }
            known.extend(file.remotes.into_keys());
        }
        if name == LOCAL {
            let local = Written {
                addr: "unix://".to_owned(),
                ..Written::default()
            };
            return self.found(name, given, &local, &self.user);
        }
        Err(RemoteError::Unknown {
            name: name.to_owned(),
            path: self.user.join("config.yml"),
            known: known.into_iter().collect(),
        })
    }

    fn found(
        &self,
        name: &str,
        given: Option<Identity>,
        written: &Written,
        folder: &Path,
    ) -> Result<Remote, RemoteError> {
        let name_of = || name.to_owned();
        if written.public || !matches!(written.protocol.as_str(), "" | "incus") {
            let protocol = match written.protocol.as_str() {
                "" => "incus, in public",
                other => other,
            };
            return Err(RemoteError::ImageServer {
                name: name_of(),
                protocol: protocol.to_owned(),
            });
        }
        let endpoint = self.endpoint(&written.addr);
        let endpoint = endpoint.map_err(|cause| RemoteError::Address {
            name: name_of(),
            cause,
        })?;
        let trust = match endpoint {
            Endpoint::Unix(_) => Trust::default(),
            Endpoint::Https { .. } => Trust {
                identity: Some(match given {
                    Some(given) => given,
                    None if matches!(written.auth_type.as_str(), "" | "tls") => {
                        self.identity(name)?
                    }
                    None => {
                        return Err(RemoteError::LogIn {
                            name: name_of(),
                            auth_type: written.auth_type.clone(),
                        });
                    }
                }),
                expected: server_certificate(folder, name)?,
                ..Trust::default()
            },
        };
        Ok(Remote { endpoint, trust })
    }

    /// The client writes the socket of this machine as `unix://`, and sockets in three ways.
    fn endpoint(&self, address: &str) -> Result<Endpoint, EndpointError> {
        match address.strip_prefix("unix:") {
            Some("" | "//") => Ok(Endpoint::Unix(self.socket.clone())),
            Some(rest) => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                Endpoint::parse(&format!("unix://{path}"))
            }
            None => Endpoint::parse(address),
        }
    }

    /// The certificate for this remote, else the one for all.
    fn identity(&self, name: &str) -> Result<Identity, RemoteError> {
        let own = self.user.join("clientcerts").join(format!("{name}.crt"));
        let shared = self.user.join("client.crt");
        for path in [&own, &shared] {
            let (certificate, key) = (read(path)?, read(&path.with_extension("key"))?);
            if certificate.is_none() || key.is_none() {
                continue;
            }
            let identity = Identity::from_pem(certificate.as_deref(), key.as_deref());
            let unusable = |cause| RemoteError::Identity {
                path: path.clone(),
                cause,
            };
            if let Some(identity) = identity.map_err(unusable)? {
                return Ok(identity);
            }
        }
        Err(RemoteError::NoCertificate {
            name: name.to_owned(),
            own,
            shared,
        })
    }
}

/// The certificate that the user accepted when the remote was added.
fn server_certificate(folder: &Path, name: &str) -> Result<Option<Fingerprint>, RemoteError> {
    let path = folder.join("servercerts").join(format!("{name}.crt"));
    let Some(pem) = read(&path)? else {
        return Ok(None);
    };
    let fingerprint = Fingerprint::of_pem(&pem);
    fingerprint
        .map(Some)
        .map_err(|_| RemoteError::ServerCertificate { path })
}

fn read_config(folder: &Path) -> Result<File, RemoteError> {
    let path = folder.join("config.yml");
    match read(&path)? {
        None => Ok(File::default()),
        Some(text) if text.trim().is_empty() => Ok(File::default()),
        Some(text) => serde_saphyr::from_str(&text).map_err(|_| RemoteError::Malformed { path }),
    }
}

/// A file as text, or nothing when it is not there.
fn read(path: &Path) -> Result<Option<String>, RemoteError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(RemoteError::Unreadable {
            path: path.to_owned(),
            cause,
        }),
    }
}

struct Known<'a>(&'a [String]);

impl std::fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => f.write_str("it has none at all"),
            names => write!(f, "it has {}", names.join(", ")),
        }
    }
}

/// A certificate, and the key beside it.
struct Both<'a>(&'a Path);

impl std::fmt::Display for Both<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with its .key", self.0.display())
    }
}
