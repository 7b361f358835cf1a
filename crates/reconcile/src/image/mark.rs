//! Marks: which of the cluster's images we have pulled, and as what.
//!
//! Before: `keep.rs` has pulled an image. After: `keep.rs` finds it again, `sweep.rs` knows what may go. What nobody has
//! marked is somebody else's, and is never deleted by us.

use std::collections::BTreeMap;

use domain::app::{Image, ImageServer};
use serde::{Deserialize, Serialize};

/// The property of an image that says it is one of ours.
const PROPERTY: &str = "homelab-ops.source";

/// The property in which Incus keeps the name by which it has pulled an OCI image. No later pull changes it.
const PULLED_AS: &str = "id";

/// From where we have an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    server: ImageServer,
    name: String,
    /// As in the declaration.
    digest: String,
}

impl Mark {
    /// For the image that a declaration stands for; none if it is the cluster's own.
    pub(super) fn of(image: &Image) -> Option<Self> {
        Some(Self {
            server: image.server.clone()?,
            name: image.reference.written().to_owned(),
            digest: image.digest.clone()?,
        })
    }

    /// The mark that an image of the cluster carries.
    pub(super) fn on(image: &incus::image::Image) -> Option<Self> {
        serde_json::from_str(image.properties.get(PROPERTY)?).ok()
    }

    /// What an image of ours is, by the digest in declarations; `None` if it is somebody else's.
    pub(super) fn digest_on(image: &incus::image::Image) -> Option<String> {
        let marked = Self::on(image)?.digest;
        Some(oci_digest(image).map_or(marked, str::to_owned))
    }

    /// As properties of an image.
    pub(super) fn properties(&self) -> BTreeMap<String, String> {
        // Only texts: this serialisation cannot fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        BTreeMap::from([(PROPERTY.to_owned(), text)])
    }
}

/// The digest by which Incus has pulled an OCI image, if it was pulled by one.
///
/// It, and no mark, tells what an image is: Incus knows OCI images by their layers alone, so that a pull of one may end
/// at another that was there before.
pub(super) fn oci_digest(image: &incus::image::Image) -> Option<&str> {
    let (_, digest) = image.properties.get(PULLED_AS)?.split_once('@')?;
    Some(digest)
}

/// Whether Incus has made an image from one of a registry.
pub(super) fn is_oci(image: &incus::image::Image) -> bool {
    image.properties.get("type").map(String::as_str) == Some("oci")
}

/// Whether somebody wants to have an image, rather than Incus having kept it for itself.
pub(super) fn is_wanted(image: &incus::image::Image) -> bool {
    !image.cached || !image.aliases.is_empty()
}

#[cfg(test)]
mod tests {
    use domain::app::{ImageReference, Protocol};

    use super::*;

    fn declared() -> Image {
        Image {
            server: ImageServer::parse(Protocol::Oci, "http://h:5000").ok(),
            digest: Some("sha256:ab".to_owned()),
            ..Image::own(ImageReference::Alias("app:stable".to_owned()))
        }
    }

    fn kept(properties: &[(&str, &str)]) -> incus::image::Image {
        let property = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        incus::image::Image {
            properties: properties.iter().map(property).collect(),
            ..incus::image::Image::default()
        }
    }

    #[test]
    fn a_mark_reads_back_and_only_what_we_pulled_has_one() {
        let mark = Mark::of(&declared()).expect("an image of a server");
        let properties = mark.properties();
        let image = incus::image::Image {
            properties,
            ..incus::image::Image::default()
        };
        assert_eq!(Mark::digest_on(&image).as_deref(), Some("sha256:ab"));
        assert_eq!(Mark::on(&image), Some(mark));
        let own = Image {
            server: None,
            ..declared()
        };
        assert_eq!(Mark::of(&own), None);
        for foreign in [
            kept(&[]),
            kept(&[(PROPERTY, "")]),
            kept(&[(PROPERTY, "{}")]),
        ] {
            assert_eq!(Mark::on(&foreign), None);
        }
    }

    #[test]
    fn what_incus_has_pulled_by_a_digest_is_known_by_it() {
        for (id, expected) in [
            ("app@sha256:ab", Some("sha256:ab")),
            ("app:stable", None),
            ("", None),
        ] {
            assert_eq!(oci_digest(&kept(&[("id", id)])), expected);
        }
        assert_eq!(oci_digest(&kept(&[])), None);
    }
}
