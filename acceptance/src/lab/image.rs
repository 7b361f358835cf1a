//! The images that workloads start from, made here from a statically linked busybox: two versions, a broken one and a collector.
//!
//! No registry and no internet is needed. What an app's image would be is played by a web server that tells its version, beside a heartbeat in `/run`.
//! The same as OCI images are in `oci.rs`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::observer::Observer;
use crate::process::{run, tool};

/// Debian's statically linked busybox.
pub(super) const BUSYBOX: &str = "/bin/busybox";

/// The alias of the first version: `/version` answers `v1`.
pub const VERSION_1: &str = "app/v1";
/// The alias of the second version: `/version` answers `v2`.
pub const VERSION_2: &str = "app/v2";
/// The alias of an image whose init prints a line and ends with 1.
pub const BROKEN: &str = "app/broken";

/// The alias of an image that tells which files it found when it started: `/config` is its configuration.
pub const COLLECTOR: &str = "app/collector";

/// Serves until it is told to end, on one more port if `PORT` names one. Incus asks for a clean end with SIGPWR.
pub(super) const INIT: &str = "#!/bin/sh
trap 'exit 0' PWR TERM
ip link set lo up
[ ! -e /sys/class/net/eth0 ] || udhcpc -b -q -t 10 -i eth0 -s /etc/udhcpc >/dev/null 2>&1 &
while echo >/run/heartbeat; do sleep 10; done &
[ -z $PORT ] || httpd -p $PORT -h /www
httpd -f -p 80 -h /www &
wait $!
";

/// What an app without its configuration does.
const BROKEN_INIT: &str = "#!/bin/sh
echo 'app: cannot open /etc/app.conf: No such file or directory'
exit 1
";

/// Looks first, and then does what every app does.
pub(super) const COLLECTOR_INIT: &str = "#!/bin/sh
cat /etc/alloy/config.alloy >/www/config
ls -ln /etc/alloy >/www/files
exec /sbin/serve
";

const UDHCPC: &str = "#!/bin/sh
[ \"$1\" = bound ] || [ \"$1\" = renew ] || exit 0
ip address replace \"$ip/${mask:-24}\" dev \"$interface\"
";

const APPLETS: [&str; 12] = [
    "cat", "echo", "false", "httpd", "ip", "ls", "sh", "sleep", "test", "timeout", "udhcpc", "wget",
];

/// Builds all images below a folder and returns each alias with its file.
pub(super) fn build(folder: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    [
        (VERSION_1, "v1", INIT),
        (VERSION_2, "v2", INIT),
        (BROKEN, "broken", BROKEN_INIT),
        (COLLECTOR, "collector", COLLECTOR_INIT),
    ]
    .into_iter()
    .map(|(alias, version, init)| {
        let file = build_one(&folder.join("images").join(version), version, init);
        Ok((
            alias,
            file.with_context(|| format!("building the image {alias}"))?,
        ))
    })
    .collect()
}

/// An image as a file that a server of images could have.
#[derive(Debug)]
pub struct Archive {
    /// The whole file.
    pub content: Vec<u8>,
    /// Its SHA-256, under which Incus keeps the image.
    pub fingerprint: String,
}

impl Archive {
    /// Builds the image of a version below a folder; workloads of it serve the version.
    pub fn build(folder: &Path, version: &str) -> Result<Archive> {
        let file = build_one(&folder.join(version), version, INIT)?;
        let content = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let digest = Sha256::digest(&content);
        let fingerprint = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Archive {
            content,
            fingerprint,
        })
    }
}

fn build_one(tree: &Path, version: &str, init: &str) -> Result<PathBuf> {
    lay_out(&tree.join("rootfs"), version, init)?;
    let architecture = std::env::consts::ARCH;
    let metadata = format!(
        "architecture: {architecture}\ncreation_date: 1700000000\nproperties:\n  description: app {version}\n"
    );
    fs::write(tree.join("metadata.yaml"), metadata)?;
    let file = tree.with_extension("tar");
    pack(tree, &["metadata.yaml", "rootfs"], &file)?;
    Ok(file)
}

/// Makes the root file system of an image.
pub(super) fn lay_out(root: &Path, version: &str, init: &str) -> Result<()> {
    for folder in [
        "bin", "sbin", "etc", "dev", "proc", "sys", "run", "tmp", "www",
    ] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::copy(BUSYBOX, root.join("bin/busybox"))?;
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    executable(&root.join("sbin/init"), init)?;
    executable(&root.join("sbin/serve"), INIT)?;
    executable(&root.join("etc/udhcpc"), UDHCPC)?;
    fs::write(root.join("www/version"), format!("{version}\n"))?;
    fs::write(root.join("www/healthz"), "ok\n")?;
    Ok(())
}

/// Packs parts of a folder. The same content gives the same bytes, and so the same fingerprint in every lab.
pub(super) fn pack(folder: &Path, parts: &[&str], archive: &Path) -> Result<()> {
    let (folder, archive) = (folder.to_string_lossy(), archive.to_string_lossy());
    let steady = [
        "--sort=name",
        "--mtime=@1700000000",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ];
    let packing = ["-C", &folder, "-cf", &archive];
    run(tool("tar", &steady).args(packing).args(parts)).map(drop)
}

fn executable(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Imports images and gives each its alias.
pub(super) fn import(observer: &Observer, images: &[(&'static str, PathBuf)]) -> Result<()> {
    for (alias, file) in images {
        let importing = || format!("importing the image {alias}");
        let bytes = fs::read(file).with_context(importing)?;
        let headers = [
            ("Content-Type", "application/octet-stream"),
            ("X-Incus-Filename", "image.tar"),
        ];
        let (_, answer) = observer
            .exchange("POST", "/1.0/images", &headers, &bytes)
            .with_context(importing)?;
        let ended = observer
            .follow(serde_json::from_slice(&answer)?)
            .with_context(importing)?;
        let body = json!({ "name": alias, "target": ended["metadata"]["fingerprint"] });
        observer
            .finish("POST", "/1.0/images/aliases", Some(&body))
            .with_context(importing)?;
    }
    Ok(())
}
