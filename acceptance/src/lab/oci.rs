//! An OCI image, as bytes that a registry takes: one layer, a configuration, and the manifest that names both.
//!
//! What is in it comes from `image.rs`; `registry.rs` pushes it. The same version gives the same bytes, so that its digest
//! is the same in every lab.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::image;

/// The media type of the manifests that are made here.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of the lists of manifests.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A thing in a registry that is known by its digest.
#[derive(Debug)]
pub(super) struct Blob {
    /// `sha256:` and 64 hexadecimal digits.
    pub(super) digest: String,
    pub(super) content: Vec<u8>,
}

impl Blob {
    fn new(content: Vec<u8>) -> Blob {
        let digest = Sha256::digest(&content);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Blob {
            digest: format!("sha256:{digits}"),
            content,
        }
    }

    fn describe(&self, kind: &str) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": self.digest,
            "size": self.content.len(),
        })
    }
}

/// What the workload of an image does.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// It serves its version on port 80.
    App,
    /// The same, and on this port too.
    On(u16),
    /// The same as an app, after it has noted which files it found when it started.
    Collector,
}

/// An image for one architecture: the machine's own.
#[derive(Debug)]
pub(super) struct Image {
    /// What must be there before the manifest.
    pub(super) parts: [Blob; 2],
    pub(super) manifest: Blob,
}

impl Image {
    /// Builds an image below a folder. Its workload prints a line, which is in the configuration, and then serves the
    /// version, which is in the layer.
    pub(super) fn build(folder: &Path, kind: Kind, version: &str, line: &str) -> Result<Image> {
        let root = folder.join(version);
        let archive = folder.join(format!("{version}.tar"));
        super::remove_folder(&root)?;
        let init = match kind {
            Kind::App | Kind::On(_) => image::INIT,
            Kind::Collector => image::COLLECTOR_INIT,
        };
        image::lay_out(&root, version, init)?;
        image::pack(&root, &["."], &archive)?;
        let layer = fs::read(&archive).with_context(|| format!("reading {}", archive.display()))?;
        Image::of(Blob::new(layer), kind, line)
    }

    fn of(layer: Blob, kind: Kind, line: &str) -> Result<Image> {
        let mut environment = vec!["PATH=/sbin:/bin".to_owned()];
        if let Kind::On(port) = kind {
            environment.push(format!("PORT={port}"));
        }
        let start = ["/bin/sh", "-c", "echo \"$0\" && exec /sbin/init", line];
        let config = json!({
            "architecture": architecture()?,
            "os": "linux",
            "config": { "Entrypoint": start, "Env": environment },
            "rootfs": { "type": "layers", "diff_ids": [layer.digest] },
        });
        let config = Blob::new(config.to_string().into_bytes());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.describe("config.v1+json"),
            "layers": [layer.describe("layer.v1.tar")],
        });
        Ok(Image {
            manifest: Blob::new(manifest.to_string().into_bytes()),
            parts: [layer, config],
        })
    }
}

/// A list of two images under one name, as most public ones are: one for this machine, one for another architecture.
pub(super) fn list(own: &Image, other: &Image) -> Result<Blob> {
    let own_architecture = architecture()?;
    let other_architecture = if own_architecture == "amd64" {
        "arm64"
    } else {
        "amd64"
    };
    let entry = |image: &Image, architecture| {
        let mut entry = image.manifest.describe("manifest.v1+json");
        entry["platform"] = json!({ "architecture": architecture, "os": "linux" });
        entry
    };
    // The one that is not meant comes first.
    let list = json!({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [entry(other, other_architecture), entry(own, own_architecture)],
    });
    Ok(Blob::new(list.to_string().into_bytes()))
}

/// The machine's, in the words of OCI.
fn architecture() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("no OCI images are made for {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(layer: &str, line: &str) -> Image {
        Image::of(Blob::new(layer.into()), Kind::App, line).expect("an image")
    }

    #[test]
    fn an_image_names_its_parts_by_their_digests() {
        let image = image("abc", "hello");
        let [layer, config] = &image.parts;
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(layer.digest, abc);
        let read = |blob: &Blob| -> Value { serde_json::from_slice(&blob.content).expect("JSON") };
        let manifest = read(&image.manifest);
        assert_eq!(manifest["layers"][0]["digest"], abc);
        assert_eq!(manifest["layers"][0]["size"], 3);
        assert_eq!(manifest["config"]["digest"], config.digest);
        assert_eq!(read(config)["rootfs"]["diff_ids"], json!([abc]));
    }

    #[test]
    fn a_change_of_layer_or_line_is_another_digest() {
        let digest = |layer, line| image(layer, line).manifest.digest;
        assert_eq!(digest("abc", "hello"), digest("abc", "hello"));
        assert_ne!(digest("abc", "hello"), digest("xyz", "hello"));
        assert_ne!(digest("abc", "hello"), digest("abc", "goodbye"));
    }
}
