//! How a daemon, or a program in its place, gets the namespaces and the root file system that it runs in: a shell script
//! before it.
//!
//! `member.rs` and `registry.rs` start the commands that are made here. Everything is mounted in a mount namespace of the
//! daemon's own, so that no mount outlives it, and the network namespace is entered while the machine's `/run` is still in
//! sight.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::record::Place;
use super::version::{INCUSD, Incus};

/// The daemon sees the place's network cards in `/sys` and still the machine's control groups below it. The arguments
/// are the namespace, an empty folder, and what [`INSIDE`] takes.
const OUTSIDE: &str = r#"
mount --make-rprivate /
mkdir -p "$2"
mount --rbind /sys/fs/cgroup "$2"
namespace=$1
shift
exec nsenter --net="/run/netns/$namespace" sh -ec "$INSIDE" sh "$@"
"#;

/// Given a tree, the daemon gets it as its root, and the lab's folder in it at the place where it also is outside. What it
/// writes elsewhere stays in memory: members and labs share the tree. A new root it must be, because in a mere chroot the
/// kernel refuses the user namespaces of containers. The arguments are the folder, the tree or nothing, the lab's folder,
/// and the command.
const INSIDE: &str = r#"
unset INSIDE
mount -t sysfs sysfs /sys
mount --move "$1" /sys/fs/cgroup
if [ -n "$2" ]; then
    mount -t tmpfs tmpfs "$1"
    mkdir "$1/upper" "$1/work" "$1/root"
    mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
    for shared in dev proc sys; do
        mount --rbind "/$shared" "$1/root/$shared"
    done
    mkdir -p "$1/root$3"
    mount --bind "$3" "$1/root$3"
    cd "$1/root"
    pivot_root . mnt/old
    cd /
    umount -l /mnt/old
fi
shift 3
exec "$@"
"#;

/// The command that becomes the daemon of a member.
pub(super) fn daemon(place: &Place, incus: Incus) -> Command {
    let mut command = program(place, incus, INCUSD);
    command
        .args(["--group", "incus-admin", "--logfile"])
        .arg(place.directory.with_extension("log"));
    command
}

/// The command that becomes any other program, where the daemon of a member would run; arguments can be added.
pub(super) fn program(place: &Place, incus: Incus, program: &str) -> Command {
    let mut command = enter(place, incus.tree());
    command
        .arg(program)
        .env("INCUS_DIR", &place.directory)
        .env("INCUS_SECURITY_APPARMOR", "false")
        .env("INCUS_SKIP_INSTANCE_TYPES", "true");
    command
}

/// The command that becomes whatever program is appended to it, in a place and in this tree or the machine's own.
pub(super) fn enter(place: &Place, tree: Option<PathBuf>) -> Command {
    let lab = place.directory.parent().unwrap_or(Path::new("/"));
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-ec", OUTSIDE, "sh", &place.namespace])
        .arg(place.directory.with_extension("mounts"))
        .args([&*tree.unwrap_or_default(), lab])
        .env("INSIDE", INSIDE);
    command
}
