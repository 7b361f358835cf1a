//! Every format, read by programs that are not ours. Nothing is mounted: not every kernel could.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::fleet::prepare;
use crate::process::{run, tool};
use crate::scenario::Context;

/// How a program lists a volume's files, how it prints one, and what says the label.
struct Reader {
    format: &'static str,
    /// Each of them prints the same: a volume may have several sets of names.
    print: &'static [&'static str],
    label: &'static str,
}

/// Scripts for `sh`: `$1` is the output, `$2` the name of a file in it.
const READERS: [Reader; 3] = [
    Reader {
        format: "tar",
        print: &[r#"tar --extract --to-stdout --file "$1" "$2""#],
        label: r#"tar --list --file "$1" >/dev/null && dd if="$1" bs=1 skip=257 count=5 status=none"#,
    },
    Reader {
        format: "seed-data-img",
        print: &[r#"mtype -i "$1" "::$2""#],
        label: r#"blkid --probe --output value --match-tag LABEL "$1""#,
    },
    Reader {
        format: "seed-data-iso",
        print: &[
            r#"isoinfo -J -x "/$2" -i "$1""#,
            r#"isoinfo -R -x "/$2" -i "$1""#,
        ],
        label: r#"blkid --probe --output value --match-tag LABEL "$1""#,
    },
];

const SEED: &str = r#"
resource "homelab_seed" "each" {
  for_each = toset(["tar", "seed-data-img", "seed-data-iso"])
  machine = {
    name    = each.key
    mac     = "52:54:00:00:00:0a"
    role    = "bootstrap"
    address = "192.168.1.210"
    network = { name = "lan", cidr = "192.168.1.0/24", gateway = "192.168.1.1", dns = ["192.168.1.1"] }
  }
  break_glass_certificate = file("break-glass.crt")
  extra_files             = { migration-manager = jsonencode({ apply_defaults = true }) }
  output                  = { path = "${each.key}.seed", format = each.key }
  encrypt_to              = SEALED
}
"#;

pub(super) fn all(context: &Context) -> Result<()> {
    let workspace = context.workspace("seeds-formats")?;
    let identity = prepare(context, &workspace)?;
    for sealed in [false, true] {
        let recipients = if sealed {
            "[trimspace(file(\"recipient\"))]"
        } else {
            "null"
        };
        workspace.main(&SEED.replace("SEALED", recipients))?;
        workspace.apply()?.succeeded()?;
        for reader in &READERS {
            let attributes =
                workspace.attributes(&format!("homelab_seed.each[{:?}]", reader.format))?;
            let files: BTreeMap<String, String> =
                serde_json::from_value(attributes["files"].clone())?;
            ensure!(files.len() == 5, "{:?}", files.keys());
            let mut output = workspace.folder().join(format!("{}.seed", reader.format));
            if sealed {
                let plain = output.with_extension("plain");
                let mut decrypt = tool("age", &["--decrypt", "--identity"]);
                run(decrypt
                    .arg(&identity)
                    .arg("--output")
                    .arg(&plain)
                    .arg(&output))?;
                output = plain;
            }
            read(reader, &output, &files).with_context(|| reader.format)?;
        }
    }
    workspace.destroy()?.succeeded().map(drop)
}

fn read(reader: &Reader, output: &Path, files: &BTreeMap<String, String>) -> Result<()> {
    let script = |script: &str, name: &str| {
        let mut command = tool("sh", &["-ec", script, "sh"]);
        run(command.arg(output).arg(name))
    };
    for (name, content) in files {
        for print in reader.print {
            let read = script(print, name)?;
            ensure!(&read == content, "{name} reads as {read:?} by {print}");
        }
    }
    let label = script(reader.label, "")?;
    let expected = if reader.format == "tar" {
        "ustar"
    } else {
        "SEED_DATA"
    };
    ensure!(label.trim() == expected, "the label is {label:?}");
    Ok(())
}
