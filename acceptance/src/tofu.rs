//! Which OpenTofu runs, and the providers that it is given. All are built here when they are not at hand.
//!
//! Used once per run; `workspace.rs` then calls what was found. The lab is not needed for any of this.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::process::{Missing, run, tool};

/// The file name that OpenTofu looks for.
const PROVIDER: &str = "terraform-provider-homelab";

/// The operator's program.
const HOMELABCTL: &str = "homelabctl";

/// The same for the toy, the provider that shows what `tfplugin` can do.
const TOY: &str = "terraform-provider-toy";

/// An Incus in memory.
const SIMULATOR: &str = "simulator";

/// The programs under test, together for one run.
#[derive(Debug)]
pub struct Programs {
    /// OpenTofu, or another program that hosts providers.
    pub tofu: PathBuf,
    /// A sentence that says which one it is, and where it is from.
    pub told: String,
    /// A folder with nothing but the providers, and folders of scenarios below it.
    pub folder: TempDir,
    /// Held while one of the others is built and copied; which are there.
    built: Mutex<BTreeSet<&'static str>>,
}

impl Programs {
    /// Finds or builds OpenTofu, and builds the provider.
    pub fn find() -> Result<Programs> {
        let (tofu, origin) = find_tofu()?;
        let (provider, homelabctl) = build_programs()?;
        let folder = tempfile::Builder::new()
            .prefix("validate-run-")
            .tempdir()
            .context("making a folder")?;
        // A copy, so that building again meanwhile changes nothing under a running scenario.
        let copy = folder.path().join(PROVIDER);
        fs::copy(&provider, &copy).with_context(|| format!("copying {}", provider.display()))?;
        fs::copy(&homelabctl, folder.path().join(HOMELABCTL))
            .with_context(|| format!("copying {}", homelabctl.display()))?;
        let version = run(&mut tool(&tofu.to_string_lossy(), &["version"]))?;
        // A warning about the caller's own settings may come first.
        let version = version
            .lines()
            .find(|line| line.contains(" v"))
            .unwrap_or("a program without a version");
        Ok(Programs {
            told: format!("{version} ({origin}: {})", tofu.display()),
            tofu,
            folder,
            built: Mutex::default(),
        })
    }

    /// The same provider under another host.
    pub fn with_host(&self, program: &Path) -> Result<Programs> {
        let folder = tempfile::Builder::new()
            .prefix("validate-run-")
            .tempdir()
            .context("making a folder")?;
        fs::copy(self.provider(), folder.path().join(PROVIDER)).context("copying the provider")?;
        Ok(Programs {
            tofu: program.to_owned(),
            told: format!("{}", program.display()),
            folder,
            built: Mutex::default(),
        })
    }

    /// The provider's binary.
    pub fn provider(&self) -> PathBuf {
        self.folder.path().join(PROVIDER)
    }

    /// The operator's program, beside it.
    pub fn homelabctl(&self) -> PathBuf {
        self.folder.path().join(HOMELABCTL)
    }

    /// The toy's binary, beside the provider's. It is built when the first scenario asks for it.
    pub fn toy(&self) -> Result<PathBuf> {
        self.on_demand(TOY, build_toy)
    }

    /// The simulator's binary, in the same way.
    pub fn simulator(&self) -> Result<PathBuf> {
        self.on_demand(SIMULATOR, build_simulator)
    }

    fn on_demand(&self, name: &'static str, build: fn() -> Result<PathBuf>) -> Result<PathBuf> {
        let copy = self.folder.path().join(name);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if !built.contains(name) {
            let program = build()?;
            fs::copy(&program, &copy).with_context(|| format!("copying {}", program.display()))?;
            built.insert(name);
        }
        Ok(copy)
    }
}

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// A program on the PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether the host of providers is OpenTofu; it is not when `TOFU` names another one.
pub fn is_opentofu() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let Some(given) = std::env::var_os("TOFU").filter(|given| !given.is_empty()) else {
            return true;
        };
        let told = run(&mut tool(&given.to_string_lossy(), &["version"]));
        told.is_ok_and(|told| told.contains("OpenTofu v"))
    })
}

fn find_tofu() -> Result<(PathBuf, &'static str)> {
    if let Some(given) = std::env::var_os("TOFU").filter(|given| !given.is_empty()) {
        return Ok((PathBuf::from(given), "given by TOFU"));
    }
    if let Some(found) = on_path("tofu") {
        return Ok((found, "found on the PATH"));
    }
    let built = repository().join("target/tofu/tofu");
    if !built.exists() {
        build_tofu(&built)?;
    }
    Ok((built, "built from source"))
}

/// Builds the release that `acceptance/tofu/go.mod` names. Several minutes, once.
fn build_tofu(built: &Path) -> Result<()> {
    if on_path("go").is_none() {
        let missing = "tofu on the PATH, or Go 1.26.6 or newer to build it from source".to_owned();
        return Err(Missing(missing).into());
    }
    let _alone = crate::lab::lock("tofu")?;
    if built.exists() {
        return Ok(());
    }
    eprintln!("Building OpenTofu from source; this takes some minutes, once.");
    // Under another name first: an interrupted build must not pass for a finished one.
    let unfinished = built.with_extension("unfinished");
    let mut build = tool("go", &["build", "-trimpath"]);
    // Without this variable OpenTofu takes itself for a development version and behaves like one.
    build.args([
        "-ldflags",
        "-s -w -X github.com/opentofu/opentofu/version.dev=no",
        "-o",
    ]);
    build
        .arg(&unfinished)
        .arg("github.com/opentofu/opentofu/cmd/tofu");
    run(build.current_dir(repository().join("acceptance/tofu"))).context("building OpenTofu")?;
    fs::rename(&unfinished, built).context("keeping OpenTofu")
}

/// Makes everything that [`Programs::find`] would have to make.
pub fn prepare() -> Result<()> {
    find_tofu()?;
    build_programs().map(drop)
}

/// The provider and the operator's program; `PROVIDER` names a provider that is built already, with the other one beside.
fn build_programs() -> Result<(PathBuf, PathBuf)> {
    if let Some(given) = std::env::var_os("PROVIDER").filter(|given| !given.is_empty()) {
        let provider = PathBuf::from(given);
        let beside = provider.with_file_name(HOMELABCTL);
        return Ok((provider, beside));
    }
    let packages = ["--package", PROVIDER, "--package", HOMELABCTL];
    cargo_build(&[&["--release"][..], &packages].concat()).context("building the programs")?;
    let release = target().join("release");
    Ok((release.join(PROVIDER), release.join(HOMELABCTL)))
}

/// Unlike the provider it is not what users get, so that a debug build will do.
fn build_toy() -> Result<PathBuf> {
    let program = "tfplugin-toy";
    let toy = ["--bin", program, "--features", "testing"];
    let arguments = [&["--package", "tfplugin"][..], &toy].concat();
    cargo_build(&arguments).context("building the toy provider")?;
    Ok(target().join("debug").join(program))
}

/// A debug build lists ten thousand instances in a twentieth of a second.
fn build_simulator() -> Result<PathBuf> {
    cargo_build(&["--package", SIMULATOR]).context("building the simulator")?;
    Ok(target().join("debug").join(SIMULATOR))
}

fn cargo_build(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet"]).args(arguments);
    run(build.current_dir(repository())).map(drop)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}
