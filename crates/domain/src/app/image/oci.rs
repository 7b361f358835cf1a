//! How OCI images are named: `repository[:tag]` or `repository@sha256:…`.
//!
//! Before: the alias of an image from a registry. After: what the registry is asked for.

/// The tag that is meant where none is written.
const LATEST: &str = "latest";

/// Longer names are refused by registries.
const LONGEST_REPOSITORY: usize = 255;
const LONGEST_TAG: usize = 128;

/// The name of an OCI image in its registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciName {
    /// The repository, such as `library/nginx`.
    pub repository: String,
    /// Which of its images.
    pub version: Version,
}

/// Which image of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The one that this tag names now.
    Tag(String),
    /// The one with this digest, `sha256:…`.
    Digest(String),
}

impl OciName {
    /// Reads a name; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, version) = match text.split_once('@') {
            Some((repository, digest)) => (repository, Version::Digest(digest.to_owned())),
            None => {
                let (repository, tag) = text.split_once(':').unwrap_or((text, LATEST));
                (repository, Version::Tag(tag.to_owned()))
            }
        };
        let sound = match &version {
            Version::Tag(tag) => is_tag(tag),
            Version::Digest(digest) => is_digest(digest),
        };
        (sound && is_repository(repository)).then(|| Self {
            repository: repository.to_owned(),
            version,
        })
    }
}

/// Whether a text is the digest of a manifest: `sha256:` and 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.chars().all(hexadecimal))
}

fn is_tag(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    !text.is_empty()
        && text.len() <= LONGEST_TAG
        && !text.starts_with(['.', '-'])
        && text.chars().all(plain)
}

fn is_repository(text: &str) -> bool {
    text.len() <= LONGEST_REPOSITORY && text.split('/').all(is_part)
}

fn is_part(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let plain = |c: char| alphanumeric(c) || "._-".contains(c);
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_repository_and_a_version() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let tag = |tag: &str| Version::Tag(tag.to_owned());
        for (text, repository, version) in [
            ("nginx".to_owned(), "nginx", tag("latest")),
            ("org/web:1.2_x".to_owned(), "org/web", tag("1.2_x")),
            (
                format!("a/b-c/d__e@{digest}"),
                "a/b-c/d__e",
                Version::Digest(digest.clone()),
            ),
        ] {
            let name = OciName::parse(&text).expect("a name");
            assert_eq!(
                (name.repository.as_str(), name.version),
                (repository, version)
            );
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let short = format!("web@sha256:{}", "ab".repeat(31));
        let both = format!("web:1@sha256:{}", "ab".repeat(32));
        let long = "a".repeat(256);
        let long_tag = format!("web:{}", "a".repeat(129));
        for text in [
            "",
            ":1",
            "web:",
            "Web",
            "web/",
            "/web",
            "a//b",
            "-a",
            "a-",
            "web:.1",
            "web:-1",
            "web:a b",
            "host:5000/web:1",
            "https://h/web",
            "web@latest",
            &short,
            &both,
            &long,
            &long_tag,
        ] {
            assert_eq!(OciName::parse(text), None, "{text}");
        }
    }
}
