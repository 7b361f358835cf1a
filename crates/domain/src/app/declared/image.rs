//! The image of a declaration: named in exactly one way.
//!
//! Before: `declared.rs` reads every part. After: [`Image`], with its digest still to be looked up.

use super::DeclaredImage;
use crate::app::{Image, ImageReference};
use crate::given::Given;
use crate::issue::{Issue, Step, attribute};

pub(super) fn read(given: &Given<DeclaredImage>, issues: &mut Vec<Issue>) -> Option<Image> {
    let image = given.known()?;
    refuse_later_image_settings(image, issues);
    let reference = match (&image.alias, &image.fingerprint) {
        (Given::Unknown, _) | (_, Given::Unknown) => None,
        (Given::Known(alias), Given::Absent) if !alias.is_empty() => {
            Some(ImageReference::Alias(alias.clone()))
        }
        (Given::Absent, Given::Known(fingerprint)) => read_fingerprint(fingerprint, issues),
        (alias, fingerprint) => {
            let seen = match (alias.is_set(), fingerprint.is_set()) {
                (true, true) => "Both `alias` and `fingerprint` are set",
                (true, false) => "`alias` is empty",
                _ => "Neither `alias` nor `fingerprint` is set",
            };
            issues.push(Issue::new(
                attribute("image"),
                "An image must be named in exactly one way",
                format!(
                    "{seen}. Expected one of them: `alias` for an image by name, `fingerprint` for an image by \
                     content."
                ),
            ));
            None
        }
    };
    Some(Image {
        reference: reference?,
        digest: None,
    })
}

fn read_fingerprint(text: &str, issues: &mut Vec<Issue>) -> Option<ImageReference> {
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if (12..=64).contains(&text.len()) && text.chars().all(hexadecimal) {
        return Some(ImageReference::Fingerprint(text.to_owned()));
    }
    issues.push(Issue::new(
        vec![Step::Attribute("image"), Step::Attribute("fingerprint")],
        "An image fingerprint is not valid",
        format!(
            "The fingerprint is {text:?}. Expected 12 to 64 of the lower-case hexadecimal digits that `incus image \
             list` shows."
        ),
    ));
    None
}

/// Nested attributes that later versions use are known already, because OpenTofu drops unknown ones silently.
fn refuse_later_image_settings(image: &DeclaredImage, issues: &mut Vec<Issue>) {
    let track_follow = matches!(&image.track, Given::Known(text) if text != "pinned");
    for (name, set) in [
        ("server", image.server.known().is_some()),
        ("protocol", image.protocol.known().is_some()),
        ("track", track_follow),
    ] {
        if set {
            issues.push(Issue::new(
                vec![Step::Attribute("image"), Step::Attribute(name)],
                "An image setting is not supported yet",
                format!(
                    "`image.{name}` is set. This version of the provider starts workloads from the cluster's own images, \
                     pinned when they are declared: copy the image there (`incus image copy`), name it by alias or \
                     fingerprint, and remove `{name}`."
                ),
            ));
        }
    }
}
