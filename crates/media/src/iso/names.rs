//! The names that plain ISO 9660 allows: capitals, digits and `_`, thirty of them, then a version.
//!
//! Nobody sees them where Rock Ridge or Joliet is understood, but they must be there, differ, and be in order.

use std::collections::BTreeSet;

use crate::pack::Files;

/// Stem and ending together may have thirty characters; ours have at most four at the end.
const LONGEST_STEM: usize = 26;

/// A name of ISO 9660, in its two parts, which are ordered one after the other.
pub(super) type Plain = (String, String);

/// The plain name of each file, in the order of the files.
pub(super) fn plain(files: &Files) -> Vec<Plain> {
    let mut taken = BTreeSet::new();
    files
        .keys()
        .map(|name| {
            let name = free(name, &taken);
            taken.insert(name.clone());
            name
        })
        .collect()
}

fn free(name: &str, taken: &BTreeSet<Plain>) -> Plain {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let (stem, ending) = upper.rsplit_once('.').unwrap_or((&upper, ""));
    let candidate = |number: usize| {
        let tail = if number == 0 {
            String::new()
        } else {
            format!("_{number}")
        };
        let room = LONGEST_STEM - tail.len();
        let stem = &stem[..stem.len().min(room)];
        (format!("{stem}{tail}"), ending.to_owned())
    };
    // There are fewer files than numbers, so one is free.
    let free = (0..).map(candidate).find(|name| !taken.contains(name));
    free.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_short_and_differ() {
        let long = "n".repeat(40);
        let names = [
            "a-b.json",
            "a_b.json",
            &format!("{long}1.yml"),
            &format!("{long}2.yml"),
        ];
        let files = names.map(|name| (name.to_owned(), String::new())).into();
        let shown: Vec<String> = plain(&files)
            .iter()
            .map(|(stem, ending)| format!("{stem}.{ending}"))
            .collect();
        let n = "N".repeat(24);
        assert_eq!(
            shown,
            [
                "A_B.JSON",
                "A_B_1.JSON",
                &format!("{n}NN.YML"),
                &format!("{n}_1.YML")
            ]
        );
    }
}
