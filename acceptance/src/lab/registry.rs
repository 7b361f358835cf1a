//! A registry of OCI images beside a lab, for scenarios that want one: Debian's, with images that are made here.
//!
//! Every lab has a place for it (`record.rs`), which is empty until [`Lab::registry`] is asked; teardown finds there what
//! the registry may have left. It runs from the root file system of Incus 7.0, so that nothing is installed on the
//! machine, and that file system knows that it speaks plain HTTP. The images are in `oci.rs`.

use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::enter;
use super::oci::{self, Blob, INDEX, Image, Kind, MANIFEST};
use super::record::Place;
use super::{Incus, Lab};
use crate::http::{self, Head};
use crate::process::{self, Missing, wait_until};

/// Its address on the network of every lab; `acceptance/rootfs-7.0` writes it down too.
pub(super) const ADDRESS: &str = "10.99.0.254";

const PORT: u16 = 5000;

/// Where Debian installs it.
const PROGRAM: &str = "/usr/bin/docker-registry";

/// Far more than it needs for an image of two megabytes.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);

/// A registry in the network of a lab. Dropping it ends it; what was pushed goes with the lab.
#[derive(Debug)]
pub struct Registry {
    place: Place,
    tree: PathBuf,
    daemon: Option<Child>,
}

impl Lab {
    /// Starts the lab's registry; nothing has been pushed to it yet. A lab has one.
    pub fn registry(&self) -> Result<Registry> {
        let place = self.record.registry.clone();
        let mut registry = Registry {
            place: place.context("there is no place for a registry beside this lab")?,
            tree: Registry::tree()?,
            daemon: None,
        };
        registry.start()?;
        Ok(registry)
    }
}

impl Registry {
    /// An error of the kind [`Missing`] where the machine has none.
    pub fn check() -> Result<()> {
        Registry::tree().map(drop)
    }

    fn tree() -> Result<PathBuf> {
        let tree = Incus::V7
            .tree()
            .context("Incus 7.0 has no file system of its own")?;
        let program = tree.join(PROGRAM.trim_start_matches('/'));
        if program.exists() {
            return Ok(tree);
        }
        let missing = format!("{} (acceptance/rootfs-7.0 makes it)", program.display());
        Err(Missing(missing).into())
    }

    /// Where its images are, as the source of an instance names it.
    pub fn server(&self) -> String {
        format!("http://{ADDRESS}:{PORT}")
    }

    /// Starts it and waits until it answers; after [`Registry::stop`] it still has what was pushed.
    pub fn start(&mut self) -> Result<()> {
        self.daemon = Some(self.launch().context("launching the registry")?);
        let waited = self.wait_ready();
        waited.with_context(|| format!("waiting for the registry: {}", self.place.last_words()))
    }

    fn launch(&self) -> Result<Child> {
        let folder = &self.place.directory;
        fs::create_dir_all(folder)?;
        let config = json!({
            "version": 0.1,
            "log": { "level": "warn", "accesslog": { "disabled": true } },
            "storage": { "filesystem": { "rootdirectory": folder.join("pushed") } },
            "http": { "addr": format!("{ADDRESS}:{PORT}"), "relativeurls": true },
        });
        // JSON is YAML.
        let file = folder.join("config.yml");
        fs::write(&file, config.to_string())?;
        let output = folder.with_extension("out");
        let output = File::options().create(true).append(true).open(output)?;
        let mut command = enter::enter(&self.place, Some(self.tree.clone()));
        command
            .args([Path::new(PROGRAM), Path::new("serve"), &file])
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // Ctrl-C in the terminal is for the runner alone.
            .process_group(0);
        Ok(command.spawn()?)
    }

    fn wait_ready(&mut self) -> Result<()> {
        wait_until("it answers", Duration::from_secs(20), || {
            let ended = self.daemon.as_mut().map(Child::try_wait).transpose()?;
            if let Some(status) = ended.flatten() {
                bail!("it has ended ({status})");
            }
            Ok(self.ask(("GET", "/v2/"), &[], &[], 200).is_ok())
        })
    }

    /// Ends it at once: whoever asks is refused a connection.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(mut daemon) = self.daemon.take() {
            process::end(&[daemon.id()]).context("ending the registry")?;
            daemon.wait().context("collecting the registry")?;
        }
        Ok(())
    }

    /// Pushes the image of a version, such as `v1`, whose workload prints this line first, and lets the tag name it from now
    /// on. Returns its digest.
    pub fn push(&self, repository: &str, tag: &str, version: &str, line: &str) -> Result<String> {
        let image = self.upload(repository, Kind::App, version, line)?;
        self.name(repository, tag, MANIFEST, &image.manifest)
    }

    /// The same for a workload of this kind, which prints its version. The tag is the version.
    pub fn push_kind(&self, repository: &str, kind: Kind, version: &str) -> Result<String> {
        let image = self.upload(repository, kind, version, version)?;
        self.name(repository, version, MANIFEST, &image.manifest)
    }

    /// The same in a list of images, of which only one is for the architecture of this machine. Returns the digest of the
    /// list.
    pub fn push_list(
        &self,
        repository: &str,
        tag: &str,
        version: &str,
        line: &str,
    ) -> Result<String> {
        let own = self.upload(repository, Kind::App, version, line)?;
        let other = self.upload(repository, Kind::App, &format!("{version}-other"), line)?;
        for image in [&own, &other] {
            self.name(
                repository,
                &image.manifest.digest,
                MANIFEST,
                &image.manifest,
            )?;
        }
        self.name(repository, tag, INDEX, &oci::list(&own, &other)?)
    }

    /// Builds an image and pushes its parts.
    fn upload(&self, repository: &str, kind: Kind, version: &str, line: &str) -> Result<Image> {
        let pushing = || format!("pushing {version} to {repository}");
        let folder = self.place.directory.join("images");
        let image = Image::build(&folder, kind, version, line).with_context(pushing)?;
        let uploads = format!("/v2/{repository}/blobs/uploads/");
        for part in &image.parts {
            let (begun, _) = self.ask(("POST", &uploads), &[], &[], 202)?;
            let location = begun.header("location").with_context(pushing)?;
            let separator = if location.contains('?') { '&' } else { '?' };
            let whole = format!("{location}{separator}digest={}", part.digest);
            let bytes = ("Content-Type", "application/octet-stream");
            self.ask(("PUT", &whole), &[bytes], &part.content, 201)?;
        }
        Ok(image)
    }

    /// Lets a tag, or its digest, name a manifest; returns the digest.
    fn name(&self, repository: &str, name: &str, kind: &str, manifest: &Blob) -> Result<String> {
        let path = format!("/v2/{repository}/manifests/{name}");
        self.ask(
            ("PUT", &path),
            &[("Content-Type", kind)],
            &manifest.content,
            201,
        )?;
        Ok(manifest.digest.clone())
    }

    /// The digest of what a reference, a tag or a digest, names now: as a HEAD of its manifest tells it.
    pub fn digest(&self, repository: &str, reference: &str) -> Result<String> {
        let (head, _) = self.manifest_by("HEAD", repository, reference)?;
        let digest = head.header("docker-content-digest");
        let digest = digest.with_context(|| format!("the digest of {repository}:{reference}"))?;
        Ok(digest.to_owned())
    }

    /// The manifest that a reference, a tag or a digest, names now.
    pub fn manifest(&self, repository: &str, reference: &str) -> Result<Value> {
        let (_, content) = self.manifest_by("GET", repository, reference)?;
        serde_json::from_slice(&content)
            .with_context(|| format!("understanding the manifest of {repository}:{reference}"))
    }

    fn manifest_by(&self, method: &str, repository: &str, by: &str) -> Result<(Head, Vec<u8>)> {
        let path = format!("/v2/{repository}/manifests/{by}");
        self.ask((method, &path), &[("Accept", MANIFEST)], &[], 200)
    }

    /// Asks from beside it, with a connection of its own.
    fn ask(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
        expected: u16,
    ) -> Result<(Head, Vec<u8>)> {
        let network = Path::new("/run/netns").join(&self.place.namespace);
        let asked = process::inside(&network, || {
            let stream = TcpStream::connect((ADDRESS, PORT))?;
            stream.set_read_timeout(Some(LONGEST_ANSWER))?;
            Ok(http::ask(stream, (method, path), headers, body)?)
        });
        let (head, content) = asked.with_context(|| format!("{method} {path} at the registry"))?;
        ensure!(
            head.status() == expected,
            "{method} {path} at the registry: status {}, {}",
            head.status(),
            String::from_utf8_lossy(&content)
        );
        Ok((head, content))
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("{error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tofu::repository;

    #[test]
    fn the_newer_incus_is_told_that_this_registry_speaks_plain_http() {
        let recipe = fs::read_to_string(repository().join("acceptance/rootfs-7.0"));
        let line = format!("\nregistry={ADDRESS}:{PORT}\n");
        assert!(recipe.expect("the recipe").contains(&line), "{line}");
    }
}
