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

/// An image for one architecture: the machine's own.
#[derive(Debug)]
pub(super) struct Image {
    /// What must be there before the manifest.
    pub(super) parts: [Blob; 2],
    pub(super) manifest: Blob,
}

impl Image {
    /// Builds the image of one version below a folder. Its workload prints `app` and the version, and then serves as the
    /// others do.
    pub(super) fn build(folder: &Path, version: &str) -> Result<Image> {
        let root = folder.join(version);
        let archive = folder.join(format!("{version}.tar"));
        super::remove_folder(&root)?;
        image::lay_out(&root, version, image::INIT)?;
        image::pack(&root, &["."], &archive)?;
        let layer = fs::read(&archive).with_context(|| format!("reading {}", archive.display()))?;
        Image::of(Blob::new(layer), version)
    }

    fn of(layer: Blob, version: &str) -> Result<Image> {
        let told = format!("echo app {version} && exec /sbin/init");
        let config = json!({
            "architecture": architecture()?,
            "os": "linux",
            "config": { "Entrypoint": ["/bin/sh", "-c", told], "Env": ["PATH=/sbin:/bin"] },
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

    #[test]
    fn an_image_names_its_parts_by_their_digests() {
        let layer = Blob::new(b"abc".to_vec());
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(layer.digest, abc);
        let image = Image::of(layer, "v1").expect("an image");
        let [layer, config] = &image.parts;
        let read = |blob: &Blob| -> Value { serde_json::from_slice(&blob.content).expect("JSON") };
        let manifest = read(&image.manifest);
        assert_eq!(manifest["layers"][0]["digest"], layer.digest);
        assert_eq!(manifest["layers"][0]["size"], 3);
        assert_eq!(manifest["config"]["digest"], config.digest);
        assert_eq!(read(config)["rootfs"]["diff_ids"], json!([abc]));
    }

    #[test]
    fn each_version_has_a_digest_of_its_own() {
        let digest = |version| {
            let image = Image::of(Blob::new(b"abc".to_vec()), version);
            image.expect("an image").manifest.digest
        };
        assert_eq!(digest("v1"), digest("v1"));
        assert_ne!(digest("v1"), digest("v2"));
    }
}
