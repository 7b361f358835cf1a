//! Servers of images: what a name stands for there, and nothing downloaded.
//!
//! ```text
//! oci.rs             a registry: the digest of a manifest
//! simplestreams.rs   files with an index: the fingerprint in a list of products
//! public.rs          an Incus server that gives its images to everybody
//!   └─ fetch.rs      sends a question and collects the answer: the only I/O here
//!        └─ roots.rs whom https believes: the authorities that this machine trusts
//! ```
//!
//! Before: a declared image. After: `image::pull`, with which a server of the cluster fetches what was found. No
//! credentials are ever sent: what is asked for is public.

mod fetch;
mod roots;

pub mod oci;
pub mod public;
pub mod simplestreams;

use crate::error::TransportError;

/// How an image is named on a server that knows fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// By a name that can move.
    Alias(&'a str),
    /// By its fingerprint, or the beginning of it.
    Fingerprint(&'a str),
}

impl Name<'_> {
    fn written(&self) -> &str {
        match self {
            Name::Alias(text) | Name::Fingerprint(text) => text,
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Whether it is for virtual machines rather than for containers.
    pub is_vm: bool,
    /// The kernel's name of the architecture, such as `x86_64`.
    pub architecture: &'a str,
}

impl Wanted<'_> {
    /// The same in words.
    fn told(&self) -> String {
        let kind = match self.is_vm {
            true => "virtual machines",
            false => "containers",
        };
        let name = self.name.written();
        format!("{name:?} for {kind} on {}", self.architecture)
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The full fingerprint, under which Incus will keep it.
    pub fingerprint: String,
    /// The kernel's name of the architecture.
    pub architecture: String,
}

/// Why a look-up came to nothing. None of these holds what a server has sent back as a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server could not be asked.
    #[error("asking {url}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why not.
        #[source]
        cause: TransportError,
    },
    /// The server does not have it.
    #[error("there is no image {wanted}")]
    NotFound {
        /// What was asked for.
        wanted: String,
    },
    /// More than one image begins with this fingerprint.
    #[error("more than one image is {wanted}")]
    Ambiguous {
        /// What was asked for.
        wanted: String,
    },
    /// Registries answer like this for what is private, and for what does not exist.
    #[error("the registry wants a login for {wanted}, or does not have it")]
    Login {
        /// What was asked for.
        wanted: String,
    },
    /// The server answered with an error.
    #[error("{url} answered with status {status}")]
    Refused {
        /// What was asked.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The answer is not what the protocol promises.
    #[error("the answer of {url} cannot be understood: {what}")]
    Unusable {
        /// What was asked.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// The answer leads to more and more other addresses, or to one that is not secure.
    #[error("{url} redirects to where it is not followed")]
    Redirected {
        /// What was asked.
        url: String,
    },
    /// This machine trusts nobody, so that https cannot.
    #[error("this machine has no certificate authorities that could vouch for {url}")]
    NoAuthorities {
        /// What was to be asked.
        url: String,
    },
}

impl Error {
    /// Whether the server has said that there is no such image.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Login { .. })
    }

    fn unusable(url: &str, what: impl ToString) -> Self {
        Self::Unusable {
            url: url.to_owned(),
            what: what.to_string(),
        }
    }
}
