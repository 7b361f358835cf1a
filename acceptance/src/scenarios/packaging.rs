//! Packaging: what `make install` and `make release` leave behind is what OpenTofu and the registries take.
//!
//! Both are given the provider that is under test, so that nothing is compiled here; how it is compiled for a release is
//! in `packaging/targets`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::process::{run, said, tool};
use crate::scenario::{Context, Scenario};
use crate::tofu::repository;
use crate::workspace::Workspace;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "init_finds_an_installed_provider_and_locks_it",
        proves: "After make install an ordinary tofu init finds the provider, locks it, and notices another build.",
        group: "packaging",
        needs: &[],
        seconds: 5,
        run: install,
    },
    Scenario {
        name: "a_release_is_what_registries_take",
        proves: "A release has archives, manifest, checksums and signature under the right names, twice the same, and \
                 tofu init takes the provider from its archive.",
        group: "packaging",
        needs: &[],
        seconds: 15,
        run: release,
    },
    Scenario {
        name: "a_release_that_cannot_be_is_refused",
        proves: "Another version than the sources have, and a platform that cannot be built, end a release with the reason.",
        group: "packaging",
        needs: &[],
        seconds: 1,
        run: refused,
    },
];

const NETWORK: &str = "resource \"homelab_network\" \"wg\" {\n  name   = \"wg\"\n  kind   = \"overlay\"\n  cidr   = \"10.9.0.0/24\"\n  \
                       claims = { a = null }\n}\n";

/// A program of `packaging/`, with the provider under test instead of a build.
fn packaging(program: &str, context: &Context) -> Command {
    let mut command = tool(
        &repository()
            .join("packaging")
            .join(program)
            .to_string_lossy(),
        &[],
    );
    command.env("PREBUILT", context.programs.provider());
    // What the caller has set for a release of their own is not meant for this one.
    for variable in [
        "VERSION",
        "TARGETS",
        "SIGNING_KEY",
        "DIST",
        "PLUGINS",
        "REGISTRY",
        "BIN",
        "PREBUILT_HOMELABCTL",
    ] {
        command.env_remove(variable);
    }
    command
}

fn install(context: &Context) -> Result<()> {
    let mut workspace = context.workspace("packaging-install")?;
    // An empty file of settings: what OpenTofu does by itself is what is tried here.
    workspace.write("home/empty.rc", "")?;
    let settings = workspace.folder().join("home/empty.rc");
    workspace.set("TF_CLI_CONFIG_FILE", &settings.to_string_lossy());
    workspace.main(NETWORK)?;

    let home = workspace.folder().join("home");
    let told = run(packaging("install", context)
        .env("HOME", &home)
        .env("PREBUILT_HOMELABCTL", context.programs.homelabctl()))?;
    let homelabctl = home.join(".local/bin/homelabctl");
    run(&mut tool(&homelabctl.to_string_lossy(), &["--version"]))?;
    ensure!(
        !told.contains(".terraform.lock.hcl"),
        "there is no lock file yet: {told}"
    );
    expect_locked(&workspace)?;
    workspace
        .run(&["init", "-no-color", "-lockfile=readonly"])?
        .succeeded()?;
    expect_addresses(&workspace)?;

    // Another build of one version has another checksum; what to do then is what the installation says.
    let other = workspace.folder().join("other-build");
    fs::copy(context.programs.provider(), &other)?;
    fs::write(
        &other,
        [fs::read(&other)?, b"another build".to_vec()].concat(),
    )?;
    let told = run(packaging("install", context)
        .env("HOME", &home)
        .env("PREBUILT", &other))?;
    ensure!(
        told.contains(".terraform.lock.hcl"),
        "the installation does not tell of lock files: {told}"
    );
    workspace
        .run(&["init", "-no-color"])?
        .failed()?
        .says("checksums")?;
    fs::remove_file(workspace.folder().join(".terraform.lock.hcl"))?;
    expect_locked(&workspace)
}

fn release(context: &Context) -> Result<()> {
    let mut workspace = context.workspace("packaging-release")?;
    let version = source_version()?;
    let platform = platform()?;
    let keys = Keys::generate(&workspace.folder().join("keys"))?;
    let (first, second) = (
        workspace.folder().join("first"),
        workspace.folder().join("second"),
    );
    for dist in [&first, &second] {
        let mut releasing = packaging("release", context);
        releasing
            .env("VERSION", &version)
            .env("TARGETS", &platform)
            .env("DIST", dist);
        releasing
            .env("SIGNING_KEY", Keys::OWNER)
            .env("GNUPGHOME", &keys.folder);
        run(&mut releasing)?;
    }
    let named = |ending: &str| format!("terraform-provider-homelab_{version}_{ending}");
    let (archive, manifest) = (named(&format!("{platform}.zip")), named("manifest.json"));
    let (sums, signature) = (named("SHA256SUMS"), named("SHA256SUMS.sig"));
    let mut expected = vec![
        archive.clone(),
        manifest.clone(),
        sums.clone(),
        signature.clone(),
    ];
    expected.sort();
    ensure!(names(&first)? == expected, "{:?} are there", names(&first)?);

    let read: Value = serde_json::from_slice(&fs::read(first.join(&manifest))?)?;
    ensure!(
        read == json!({ "version": 1, "metadata": { "protocol_versions": ["6.0"] } }),
        "{read}"
    );
    let checked = run(tool("sha256sum", &["--check", "--strict", &sums]).current_dir(&first))?;
    ensure!(
        checked.lines().count() == 2,
        "not everything has a checksum: {checked}"
    );
    let armored = fs::read(first.join(&signature))?.starts_with(b"-----");
    ensure!(
        !armored,
        "the registries want the binary form of a signature"
    );
    let verifying = &["--batch", "--verify", &signature, &sums];
    run(tool("gpg", verifying)
        .env("GNUPGHOME", &keys.folder)
        .current_dir(&first))?;
    // What is not the same any more is noticed.
    let altered = [fs::read(second.join(&sums))?, b"\n".to_vec()].concat();
    fs::write(first.join("altered"), altered)?;
    let refuting = &["--batch", "--verify", &signature, "altered"];
    let refuted = run(tool("gpg", refuting)
        .env("GNUPGHOME", &keys.folder)
        .current_dir(&first));
    ensure!(refuted.is_err(), "a signature fits what was not signed");
    for same in [&archive, &sums] {
        ensure!(
            fs::read(first.join(same))? == fs::read(second.join(same))?,
            "{same} differs the second time"
        );
    }

    // As it is, and unpacked: to a lock file both are the same.
    let (packed, unpacked) = (
        workspace.folder().join("packed"),
        workspace.folder().join("unpacked"),
    );
    let provider = "registry.opentofu.org/homelab-ops/homelab";
    fs::create_dir_all(packed.join(provider))?;
    fs::copy(first.join(&archive), packed.join(provider).join(&archive))?;
    let content = unpacked.join(format!("{provider}/{version}/{platform}"));
    fs::create_dir_all(&content)?;
    let (archive, content) = (first.join(&archive), content.to_string_lossy());
    run(&mut tool(
        "unzip",
        &["-q", &archive.to_string_lossy(), "-d", &content],
    ))?;
    let built = Path::new(&*content).join(format!("terraform-provider-homelab_v{version}"));
    ensure!(
        fs::read(&built)? == fs::read(context.programs.provider())?,
        "{} is not the provider",
        built.display()
    );
    workspace.main(NETWORK)?;
    only_from(&mut workspace, &packed)?;
    expect_locked(&workspace)?;
    expect_addresses(&workspace)?;
    fs::remove_dir_all(workspace.folder().join(".terraform"))?;
    only_from(&mut workspace, &unpacked)?;
    workspace
        .run(&["init", "-no-color", "-lockfile=readonly"])?
        .succeeded()?;
    expect_addresses(&workspace)
}

/// Has OpenTofu look for providers in one folder and nowhere else.
fn only_from(workspace: &mut Workspace, mirror: &Path) -> Result<()> {
    let settings = format!(
        "provider_installation {{\n  filesystem_mirror {{ path = \"{}\" }}\n}}\n",
        mirror.display()
    );
    workspace.write("home/mirror.rc", &settings)?;
    let settings = workspace.folder().join("home/mirror.rc");
    workspace.set("TF_CLI_CONFIG_FILE", &settings.to_string_lossy());
    Ok(())
}

fn refused(context: &Context) -> Result<()> {
    let workspace = context.workspace("packaging-refused")?;
    let version = source_version()?;
    let (own, other) = match platform()?.as_str() {
        "linux_amd64" => ("linux_amd64", "linux_arm64"),
        _ => ("linux_arm64", "linux_amd64"),
    };
    let dist = workspace.folder().join("dist");
    // A toolchain that has the libraries of this machine's own platform only. It passes for the provider, too.
    let arch = std::env::consts::ARCH;
    let stub = format!("#!/bin/sh\ncase \"$*\" in *{arch}*) echo / ;; *) echo /nowhere ;; esac\n");
    workspace.write("rustc", &stub)?;
    let stub = workspace.folder().join("rustc");
    run(&mut tool("chmod", &["755", &stub.to_string_lossy()]))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", workspace.folder().display());
    let releasing = |version: &str, targets: &str, key: &str| -> Result<(bool, String)> {
        let mut releasing = packaging("release", context);
        releasing
            .env("VERSION", version)
            .env("TARGETS", targets)
            .env("SIGNING_KEY", key)
            .env("GNUPGHOME", workspace.folder())
            .env("DIST", &dist)
            .env("PREBUILT", &stub)
            .env("PATH", &path);
        let output = releasing.output().context("running packaging/release")?;
        Ok((output.status.success(), said(&output)))
    };
    let asked_for =
        format!("{other} was asked for and cannot be built here: it lacks the Rust target");
    for (wanted, targets, key, reason) in [
        ("99.0.0", "", "", "Cargo.toml has version"),
        ("", "", "", "VERSION is missing"),
        (&version, other, "", &asked_for),
        (&version, &format!("{own} {other}"), "", &asked_for),
        (&version, "plan9_arm", "", "there is no platform plan9_arm"),
        (&version, own, "nobody", "gpg has no secret key nobody"),
    ] {
        let (succeeded, told) = releasing(wanted, targets, key)?;
        ensure!(
            !succeeded && told.contains(reason),
            "{wanted:?} {targets:?} {key:?}: {told}"
        );
        ensure!(!dist.exists(), "a refused release leaves something behind");
    }
    let (succeeded, told) = releasing(&version, "", "")?;
    let left_out = format!("{other} is left out: it lacks");
    ensure!(succeeded && told.contains(&left_out), "{told}");
    let archives = names(&dist)?
        .into_iter()
        .filter(|name| name.ends_with(".zip"));
    ensure!(archives.count() == 1, "{:?}", names(&dist)?);
    Ok(())
}

/// A key that lives as long as a scenario.
struct Keys {
    folder: PathBuf,
}

impl Keys {
    const OWNER: &str = "releases@example.org";

    fn generate(folder: &Path) -> Result<Keys> {
        fs::create_dir_all(folder)?;
        run(&mut tool("chmod", &["700", &folder.to_string_lossy()]))?;
        let keys = Keys {
            folder: folder.to_owned(),
        };
        let generating = &[
            "--batch",
            "--passphrase",
            "",
            "--quick-generate-key",
            Keys::OWNER,
            "rsa2048",
            "sign",
            "never",
        ];
        run(tool("gpg", generating).env("GNUPGHOME", folder))?;
        Ok(keys)
    }
}

impl Drop for Keys {
    /// The agent that gpg has started would outlive the run.
    fn drop(&mut self) {
        let ending = run(tool("gpgconf", &["--kill", "all"]).env("GNUPGHOME", &self.folder));
        if let Err(error) = ending {
            eprintln!("Ending gpg's agent failed: {error:#}");
        }
    }
}

fn expect_locked(workspace: &Workspace) -> Result<()> {
    workspace
        .run(&["init", "-no-color", "-input=false"])?
        .succeeded()?;
    let lock = fs::read_to_string(workspace.folder().join(".terraform.lock.hcl"))?;
    ensure!(
        lock.contains("registry.opentofu.org/homelab-ops/homelab") && lock.contains("\"h1:"),
        "the provider is not locked: {lock}"
    );
    Ok(())
}

fn expect_addresses(workspace: &Workspace) -> Result<()> {
    workspace.expect_changes()?;
    let planned = workspace.planned_change("homelab_network.wg")?["after"].take();
    ensure!(
        planned["assignments"] == json!({ "a": "10.9.0.2" }),
        "planned: {planned}"
    );
    Ok(())
}

/// The version in Cargo.toml.
fn source_version() -> Result<String> {
    let manifest = fs::read_to_string(repository().join("Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \""));
    Ok(version
        .context("Cargo.toml has no version")?
        .trim_end_matches('"')
        .to_owned())
}

/// This machine as the registries name it.
fn platform() -> Result<String> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("linux_amd64".to_owned()),
        "aarch64" => Ok("linux_arm64".to_owned()),
        other => anyhow::bail!("no provider is built for {other}"),
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
