//! The archive of an image: a tar with `metadata.yaml`, and a root file system or a disk.
//!
//! Before: `image.rs` has its bytes. Only what is shown of an image is read, and nothing is unpacked. What is compressed
//! counts as no image.

use super::state::Config;

/// The size of a header, and of what everything else is padded to.
const BLOCK: usize = 512;

/// What an image says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) architecture: String,
    /// Seconds since 1970.
    pub(super) created_at: i64,
    pub(super) properties: Config,
    /// Whether it is a disk, for virtual machines.
    pub(super) is_disk: bool,
}

/// Reads an archive; `None` if it is none, or holds no image.
pub(super) fn read(archive: &[u8]) -> Option<Metadata> {
    let mut metadata = None;
    let mut is_disk = false;
    let mut rest = archive;
    while let Some((name, content, behind)) = entry(rest) {
        match name.trim_start_matches("./") {
            "metadata.yaml" => metadata = Some(parse(&String::from_utf8_lossy(content))),
            "rootfs.img" => is_disk = true,
            _ => {}
        }
        rest = behind;
    }
    metadata.map(|metadata| Metadata {
        is_disk,
        ..metadata
    })
}

/// The first entry: its name, its content, and what comes after it.
fn entry(archive: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let header = archive.get(..BLOCK)?;
    if &header[257..262] != b"ustar" {
        return None;
    }
    let name = text(&header[..100])?;
    let size = usize::from_str_radix(text(&header[124..136])?.trim(), 8).ok()?;
    let padded = size.checked_next_multiple_of(BLOCK)?;
    let content = archive.get(BLOCK..BLOCK.checked_add(size)?)?;
    let behind = archive
        .get(BLOCK.checked_add(padded)?..)
        .unwrap_or_default();
    Some((name, content, behind))
}

fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0);
    std::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
}

/// Reads the little of YAML that is in such a file: pairs, and below `properties` more of them.
fn parse(text: &str) -> Metadata {
    let mut metadata = Metadata::default();
    let mut in_properties = false;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        if !line.starts_with(' ') {
            in_properties = key == "properties";
        }
        match key.trim() {
            "architecture" if !in_properties => metadata.architecture = value,
            "creation_date" if !in_properties => metadata.created_at = value.parse().unwrap_or(0),
            name if in_properties && line.starts_with(' ') => {
                metadata.properties.insert(name.to_owned(), value);
            }
            _ => {}
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (name, content) in entries {
            let mut header = vec![0; BLOCK];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            header[257..262].copy_from_slice(b"ustar");
            archive.extend(header);
            archive.extend(content.as_bytes());
            archive.resize(archive.len().next_multiple_of(BLOCK), 0);
        }
        archive.extend([0; 2 * BLOCK]);
        archive
    }

    const YAML: &str = "architecture: x86_64\ncreation_date: 17\nproperties:\n  description: app v1\n  os: \"a: b\"\n";

    #[test]
    fn an_image_says_what_it_is() {
        let read = read(&tar(&[("metadata.yaml", YAML), ("rootfs/", "")])).expect("an image");
        assert_eq!(read.architecture, "x86_64");
        assert_eq!(read.created_at, 17);
        assert_eq!(read.properties["description"], "app v1");
        assert_eq!(read.properties["os"], "a: b");
        assert_eq!(read.properties.len(), 2);
        assert!(!read.is_disk);
    }

    #[test]
    fn a_disk_is_for_virtual_machines() {
        let archive = tar(&[("./rootfs.img", "disk"), ("./metadata.yaml", YAML)]);
        assert!(read(&archive).expect("an image").is_disk);
    }

    #[test]
    fn what_is_no_image_is_none() {
        let cut = &tar(&[("metadata.yaml", YAML)])[..BLOCK + 4];
        for archive in [&b""[..], b"this is no image", &tar(&[("other", "x")]), cut] {
            assert_eq!(read(archive), None);
        }
    }
}
