//! The image of an app: from where, by which name, and what that name stood for when it was published.
//!
//! Before: `declared/image.rs` has checked what the user wrote. After: `reconcile/src/image.rs` looks it up and has the
//! cluster pull it. Not here: any request.

use serde::{Deserialize, Serialize};

pub use oci::{OciName, Version};

mod oci;
mod server;

pub use server::{ImageServer, Protocol};

/// What workloads start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The alias or the fingerprint (or the start of one), as the user wrote it.
    #[serde(flatten)]
    pub reference: ImageReference,
    /// Where it is; `None`: among the cluster's own images.
    // What is left at its default is not written: the documents and hashes of older versions must stay what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ImageServer>,
    /// What a name that leads to another image means.
    #[serde(default, skip_serializing_if = "Track::is_pinned")]
    pub track: Track,
    /// What the reference stood for when this declaration was published; `None` before that. The full fingerprint, or
    /// for OCI the digest of the manifest, `sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// How the user names an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageReference {
    /// By a name that can move.
    Alias(String),
    /// By content; the start of the fingerprint is enough if it is unique.
    Fingerprint(String),
}

impl ImageReference {
    /// As the user wrote it: what the `.image` key holds (HO-APP-12).
    pub fn written(&self) -> &str {
        match self {
            ImageReference::Alias(text) | ImageReference::Fingerprint(text) => text,
        }
    }
}

/// What a name that leads to another image means (docs/decisions/0020).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Track {
    /// Nothing, until another image is declared.
    #[default]
    Pinned,
    /// The next plan shows it, and its apply rolls it out.
    Follow,
}

impl Track {
    fn is_pinned(&self) -> bool {
        *self == Track::Pinned
    }
}

impl Image {
    /// An image of the cluster's own store, pinned.
    pub fn own(reference: ImageReference) -> Self {
        Self {
            reference,
            server: None,
            track: Track::default(),
            digest: None,
        }
    }

    /// Whether both are named alike, whatever that stood for.
    pub fn names_same(&self, other: &Image) -> bool {
        (&self.reference, &self.server) == (&other.reference, &other.server)
    }

    /// What a generation starts from: it is the same image whether or not its name is followed.
    pub(super) fn to_start_from(&self) -> Image {
        Image {
            track: Track::Pinned,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(track: Track) -> Image {
        Image {
            server: ImageServer::parse(Protocol::Oci, "https://ghcr.io").ok(),
            track,
            ..Image::own(ImageReference::Alias("web:1".to_owned()))
        }
    }

    #[test]
    fn what_is_left_out_is_not_written() {
        let own = Image::own(ImageReference::Alias("web/v1".to_owned()));
        let written = serde_json::to_string(&own).expect("a document");
        assert_eq!(written, r#"{"alias":"web/v1"}"#);
    }

    #[test]
    fn a_published_image_reads_back() {
        let image = image(Track::Follow);
        let written = serde_json::to_string(&image).expect("a document");
        let expected = r#"{"alias":"web:1","server":{"protocol":"oci","url":"https://ghcr.io"},"track":"follow"}"#;
        assert_eq!(written, expected);
        let read: Image = serde_json::from_str(&written).expect("its own document");
        assert_eq!(read, image);
    }

    #[test]
    fn an_image_is_named_by_its_server_too() {
        let own = Image::own(ImageReference::Alias("web:1".to_owned()));
        assert!(!own.names_same(&image(Track::Pinned)));
        assert!(image(Track::Follow).names_same(&image(Track::Pinned)));
    }
}
