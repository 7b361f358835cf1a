//! Images: `/1.0/images`, what instances are made from.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

use crate::envelope;
use crate::lenient::{null_as_empty, texts};
use crate::operation::Operation;
use crate::request::{Request, escape, path};

/// Large images over slow links take minutes before the server answers.
const UPLOAD_LIMIT: Duration = Duration::from_secs(30 * 60);

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Image {
    /// The fingerprint: SHA-256 in hexadecimal.
    pub fingerprint: String,
    /// The names that lead to it.
    #[serde(deserialize_with = "null_as_empty")]
    pub aliases: Vec<NamedAlias>,
    /// The architecture.
    pub architecture: String,
    /// `container` or `virtual-machine`.
    pub r#type: String,
    /// What its maker says about it.
    #[serde(deserialize_with = "texts")]
    pub properties: BTreeMap<String, String>,
    /// The size in bytes.
    pub size: i64,
    /// The file's name.
    pub filename: String,
    /// Whether anybody may read it.
    pub public: bool,
    /// Whether it came from elsewhere and is only kept for a while.
    pub cached: bool,
    /// When it was made.
    pub created_at: String,
    /// When it came to the server.
    pub uploaded_at: String,
}

/// A name that leads to the image that lists it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NamedAlias {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
}

/// A name and where it leads.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ImageAlias {
    /// The name.
    pub name: String,
    /// What the operator says about it.
    pub description: String,
    /// The fingerprint of the image to which it leads.
    pub target: String,
    /// The image's type.
    pub r#type: String,
}

/// Lists a project's images.
pub fn list(project: &str) -> Request<Vec<Image>> {
    let doing = format!("listing the images of project {project}");
    Request::get(path(&["images"]), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Reads an image, named by its fingerprint or a beginning of it that no other image shares.
pub fn get(project: &str, fingerprint: &str) -> Request<Image> {
    let doing = format!("reading image {fingerprint}");
    Request::get(path(&["images", fingerprint]), doing, envelope::metadata).project(project)
}

/// Lists a project's image aliases.
pub fn aliases(project: &str) -> Request<Vec<ImageAlias>> {
    let doing = format!("listing the image aliases of project {project}");
    Request::get(path(&["images", "aliases"]), doing, envelope::list)
        .project(project)
        .recursive()
}

/// Reads where an alias leads.
pub fn alias(project: &str, name: &str) -> Request<ImageAlias> {
    let doing = format!("reading image alias {name}");
    Request::get(
        path(&["images", "aliases", name]),
        doing,
        envelope::metadata,
    )
    .project(project)
}

/// Creates an image from the bytes of a tar archive that holds metadata and root file system.
/// The operation's metadata names the fingerprint.
pub fn upload(
    project: &str,
    archive: Bytes,
    properties: &BTreeMap<String, String>,
) -> Request<Operation> {
    let pairs: Vec<String> = properties
        .iter()
        .map(|(key, value)| format!("{}={}", escape(key), escape(value)))
        .collect();
    Request::post(path(&["images"]), "uploading an image", envelope::operation)
        .project(project)
        .header("x-incus-properties", &pairs.join("&"))
        .raw(archive)
        .answer_within(UPLOAD_LIMIT)
}

/// An image on another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote<'a> {
    /// The server's address.
    pub server: &'a str,
    /// `incus`, `simplestreams` or `oci`.
    pub protocol: &'a str,
    /// What it is known by there: a fingerprint, or of OCI images `repository@sha256:…`.
    pub name: &'a str,
    /// `container` or `virtual-machine`.
    pub r#type: &'a str,
}

/// Has the server that is asked fetch an image. The operation's metadata names the fingerprint, which may be that of an
/// image that it had already; the properties are added to it, too.
pub fn pull(
    project: &str,
    remote: &Remote<'_>,
    properties: &BTreeMap<String, String>,
) -> Request<Operation> {
    let doing = format!("pulling image {} from {}", remote.name, remote.server);
    let by = match remote.protocol {
        "oci" => "alias",
        _ => "fingerprint",
    };
    Request::post(path(&["images"]), doing, envelope::operation)
        .project(project)
        .json(json!({
            "source": {
                "type": "image", "mode": "pull", "server": remote.server,
                "protocol": remote.protocol, by: remote.name, "image_type": remote.r#type,
            },
            "properties": properties,
        }))
}

/// Sets these properties of an image and leaves the others.
pub fn patch_properties(
    project: &str,
    fingerprint: &str,
    properties: &BTreeMap<String, String>,
) -> Request<()> {
    let doing = format!("marking image {fingerprint}");
    Request::patch(path(&["images", fingerprint]), doing, envelope::nothing)
        .project(project)
        .json(json!({ "properties": properties }))
}

/// The kernel's name of an architecture: images often carry Debian's, members always carry the kernel's.
pub fn kernel_name(architecture: &str) -> &str {
    match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        "armhf" => "armv7l",
        "i386" => "i686",
        "ppc64el" => "ppc64le",
        other => other,
    }
}

/// Lets a name lead to an image.
pub fn create_alias(project: &str, name: &str, fingerprint: &str) -> Request<()> {
    let doing = format!("creating image alias {name}");
    Request::post(path(&["images", "aliases"]), doing, envelope::nothing)
        .project(project)
        .json(json!({ "name": name, "target": fingerprint }))
}

/// Deletes an image with its aliases.
pub fn delete(project: &str, fingerprint: &str) -> Request<Operation> {
    let doing = format!("deleting image {fingerprint}");
    Request::delete(path(&["images", fingerprint]), doing, envelope::operation).project(project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn requests_print() {
        let bytes = Bytes::from_static(b"tar");
        let properties = BTreeMap::from([("os".to_owned(), "a b&c".to_owned())]);
        let upload = upload("p", bytes.clone(), &properties);
        assert_eq!(upload.body(), &Body::Raw(bytes));
        assert_eq!(upload.headers["x-incus-properties"], "os=a%20b%26c");
        let alias_request = create_alias("p", "app/v1", "ab");
        assert_eq!(
            alias_request.body(),
            &Body::Json(json!({ "name": "app/v1", "target": "ab" }))
        );
        let remote = Remote {
            server: "http://h:5000",
            protocol: "oci",
            name: "app@sha256:ab",
            r#type: "container",
        };
        let pull = pull("p", &remote, &properties);
        assert_eq!(
            pull.body(),
            &Body::Json(json!({
                "source": {
                    "type": "image", "mode": "pull", "server": "http://h:5000", "protocol": "oci",
                    "alias": "app@sha256:ab", "image_type": "container",
                },
                "properties": { "os": "a b&c" },
            }))
        );
        for (request, printed) in [
            (pull.to_string(), "POST /1.0/images?project=p"),
            (
                patch_properties("p", "ab", &properties).to_string(),
                "PATCH /1.0/images/ab?project=p",
            ),
            (
                list("p").to_string(),
                "GET /1.0/images?project=p&recursion=1",
            ),
            (
                get("p", "ab12").to_string(),
                "GET /1.0/images/ab12?project=p",
            ),
            (
                aliases("p").to_string(),
                "GET /1.0/images/aliases?project=p&recursion=1",
            ),
            (
                alias("p", "app/v1").to_string(),
                "GET /1.0/images/aliases/app%2Fv1?project=p",
            ),
            (upload.to_string(), "POST /1.0/images?project=p"),
            (
                alias_request.to_string(),
                "POST /1.0/images/aliases?project=p",
            ),
            (
                delete("p", "ab").to_string(),
                "DELETE /1.0/images/ab?project=p",
            ),
        ] {
            assert_eq!(request, printed);
        }
    }

    #[test]
    fn an_image_lists_its_aliases() {
        let body = r#"{"type":"sync","metadata":{"fingerprint":"ab","type":"container","size":5,
            "aliases":[{"name":"app/v1","description":""}],"properties":null}}"#;
        let image = (get("p", "ab").read)(&reply(200, body)).expect("an image");
        assert_eq!(image.aliases[0].name, "app/v1");
        assert!(image.properties.is_empty());
        let body =
            r#"{"type":"sync","metadata":{"name":"app/v1","target":"ab","type":"container"}}"#;
        let alias = (alias("p", "app/v1").read)(&reply(200, body)).expect("an alias");
        assert_eq!(alias.target, "ab");
    }
}
