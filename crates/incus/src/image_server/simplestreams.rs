//! What a name stands for on a server of simplestreams: files with an index, as at images.linuxcontainers.org.
//!
//! `streams/v1/index.json` leads to lists of products; a product has names, versions by date, and files. Incus keeps an
//! image under the hash of its files together, which the list tells, so that nothing else is read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fetch::{Question, ask};
use super::{Error, Found, Name, Wanted};
use crate::image::kernel_name;

/// The list of a large server has some megabytes.
const LARGEST_LIST: usize = 64 << 20;

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    index: BTreeMap<String, List>,
}

/// Where a list of products is.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct List {
    datatype: String,
    path: String,
}

#[derive(Deserialize)]
struct Products {
    #[serde(default)]
    products: BTreeMap<String, Product>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Product {
    /// With commas between them.
    aliases: String,
    arch: String,
    versions: BTreeMap<String, Version>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Version {
    items: BTreeMap<String, Item>,
}

/// A file. That of the metadata tells the hashes of itself together with each of the others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    ftype: String,
    sha256: String,
    combined_sha256: String,
    combined_rootxz_sha256: String,
    combined_squashfs_sha256: String,
    #[serde(rename = "combined_disk-kvm-img_sha256")]
    combined_disk_kvm_img_sha256: String,
    #[serde(rename = "combined_uefi1-img_sha256")]
    combined_uefi1_img_sha256: String,
    #[serde(rename = "combined_disk1-img_sha256")]
    combined_disk1_img_sha256: String,
}

/// The image that a name stands for now.
///
/// # Errors
/// [`Error::NotFound`] if no list has it for this kind of instances and this architecture.
pub async fn look_up(server: &str, wanted: &Wanted<'_>) -> Result<Found, Error> {
    let index: Index = read(&format!("{server}/streams/v1/index.json")).await?;
    let mut lists = Vec::new();
    for list in index.index.into_values() {
        if list.datatype == "image-downloads" && !list.path.contains("://") {
            let path = list.path.trim_start_matches('/');
            lists.push(read::<Products>(&format!("{server}/{path}")).await?);
        }
    }
    let products = lists.iter().flat_map(|list| list.products.values());
    choose(products, wanted)
}

async fn read<T: DeserializeOwned>(url: &str) -> Result<T, Error> {
    let reply = ask(&Question::get(url, LARGEST_LIST)).await?;
    if !reply.status.is_success() {
        return Err(Error::Refused {
            url: url.to_owned(),
            status: reply.status.as_u16(),
        });
    }
    if reply.truncated {
        return Err(Error::unusable(url, "it is too long"));
    }
    serde_json::from_slice(&reply.body).map_err(|error| Error::unusable(url, error))
}

/// One image of a list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'a> {
    /// The version: it begins with the date, so that the newest is the last in order.
    serial: &'a str,
    /// Of one version, the kind of file that Incus takes first is the last.
    preference: u8,
    fingerprint: &'a str,
    architecture: &'a str,
}

fn choose<'a>(
    products: impl Iterator<Item = &'a Product>,
    wanted: &Wanted<'_>,
) -> Result<Found, Error> {
    let named = products.filter(|product| product.may_be(wanted));
    let mut candidates: Vec<Candidate<'_>> = named
        .flat_map(|product| product.candidates(wanted.is_vm))
        .filter(|candidate| match wanted.name {
            Name::Alias(_) => true,
            Name::Fingerprint(beginning) => candidate.fingerprint.starts_with(beginning),
        })
        .collect();
    candidates.sort();
    let different: BTreeSet<&str> = candidates.iter().map(|one| one.fingerprint).collect();
    if matches!(wanted.name, Name::Fingerprint(_)) && different.len() > 1 {
        return Err(Error::Ambiguous {
            wanted: wanted.told(),
        });
    }
    let newest = candidates.pop().ok_or_else(|| Error::NotFound {
        wanted: wanted.told(),
    })?;
    Ok(Found {
        fingerprint: newest.fingerprint.to_owned(),
        architecture: newest.architecture.to_owned(),
    })
}

impl Product {
    /// Names mean the wanted architecture, unless they end with one.
    fn may_be(&self, wanted: &Wanted<'_>) -> bool {
        let same_architecture = kernel_name(&self.arch) == wanted.architecture;
        let Name::Alias(alias) = wanted.name else {
            return same_architecture;
        };
        self.aliases.split(',').map(str::trim).any(|name| {
            let full = alias
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('/'));
            !name.is_empty() && (name == alias && same_architecture || full == Some(&*self.arch))
        })
    }

    fn candidates(&self, for_vms: bool) -> impl Iterator<Item = Candidate<'_>> {
        // Whatever has no date in front is none that Incus would take.
        let has_date = |serial: &str| {
            serial.len() >= 8 && serial.bytes().take(8).all(|byte| byte.is_ascii_digit())
        };
        let dated = self
            .versions
            .iter()
            .filter(move |(serial, _)| has_date(serial));
        dated.flat_map(move |(serial, version)| {
            let images = version.images(for_vms).into_iter();
            images.map(move |(preference, fingerprint)| Candidate {
                serial,
                preference,
                fingerprint,
                architecture: kernel_name(&self.arch),
            })
        })
    }
}

impl Version {
    /// The fingerprints of the images that its files make, each with its preference.
    fn images(&self, for_vms: bool) -> Vec<(u8, &str)> {
        let has = |kind: &str| self.items.values().any(|item| item.ftype == kind);
        let mut images = Vec::new();
        for item in self.items.values() {
            let with_root = match item.combined_rootxz_sha256.as_str() {
                "" => item.combined_sha256.as_str(),
                hash => hash,
            };
            let of_metadata = [
                (
                    "disk-kvm.img",
                    true,
                    3,
                    item.combined_disk_kvm_img_sha256.as_str(),
                ),
                ("uefi1.img", true, 2, &item.combined_uefi1_img_sha256),
                ("disk1.img", true, 1, &item.combined_disk1_img_sha256),
                ("squashfs", false, 3, &item.combined_squashfs_sha256),
                ("root.tar.xz", false, 1, with_root),
            ];
            match item.ftype.as_str() {
                "incus.tar.xz" => {
                    let fitting = of_metadata.into_iter().filter(|(kind, is_vm, _, hash)| {
                        *is_vm == for_vms && has(kind) && !hash.is_empty()
                    });
                    images.extend(fitting.map(|(_, _, preference, hash)| (preference, hash)));
                }
                "incus_combined.tar.gz" if !for_vms && !item.sha256.is_empty() => {
                    images.push((2, item.sha256.as_str()));
                }
                _ => {}
            }
        }
        images
    }
}

#[cfg(test)]
mod tests;
