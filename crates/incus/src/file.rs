//! Files in an instance: `/1.0/instances/NAME/files`.

use bytes::Bytes;
use http::header::DATE;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::envelope::{self, Reply, Unusable};
use crate::request::{Request, path};

/// A file as it is in an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// What it is.
    pub content: Content,
    /// The owner.
    pub owner: Owner,
}

/// What a file is. `Debug` of its bytes is left to whoever has them.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// A regular file.
    Regular(Bytes),
    /// A folder, with the names in it.
    Folder(Vec<String>),
    /// A symbolic link, with its target.
    Link(String),
}

/// Whose a file is, and who may use it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// The permission bits; a server that is not told takes its defaults.
    pub mode: Option<u32>,
}

/// When a file was written, and what time it was when that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Age {
    /// `file`, `directory` or `symlink`; links are not followed.
    pub kind: String,
    /// By the clock of whoever wrote it, in whole seconds; `None` if the server does not say it.
    pub written_at: Option<Timestamp>,
    /// By the clock of the server that has read it, in whole seconds; `None` if the server does not say it.
    pub read_at: Option<Timestamp>,
}

/// Reads when a file was written, and nothing of its content.
pub fn age(project: &str, instance: &str, file: &str) -> Request<Age> {
    let doing = format!("reading when file {file} of instance {instance} was written");
    let request = Request::new(Method::HEAD, files(instance), doing, read_age);
    at(request, project, file)
}

/// Reads a file.
pub fn get(project: &str, instance: &str, file: &str) -> Request<File> {
    let doing = format!("reading file {file} of instance {instance}");
    at(Request::get(files(instance), doing, read), project, file)
}

/// Writes a file. What was there is replaced, except that an existing folder stays.
pub fn put(project: &str, instance: &str, file: &str, new: &File) -> Request<()> {
    let doing = format!("writing file {file} of instance {instance}");
    let (kind, body) = match &new.content {
        Content::Regular(bytes) => ("file", bytes.clone()),
        Content::Folder(_) => ("directory", Bytes::new()),
        Content::Link(target) => ("symlink", target.clone().into()),
    };
    let request = Request::post(files(instance), doing, envelope::nothing)
        .header("x-incus-type", kind)
        .header("x-incus-write", "overwrite")
        .header("x-incus-uid", &new.owner.user.to_string())
        .header("x-incus-gid", &new.owner.group.to_string())
        .raw(body);
    let request = match new.owner.mode {
        Some(mode) => request.header("x-incus-mode", &format!("{mode:04o}")),
        None => request,
    };
    at(request, project, file)
}

/// Deletes a file, or a folder that is empty.
pub fn delete(project: &str, instance: &str, file: &str) -> Request<()> {
    let doing = format!("deleting file {file} of instance {instance}");
    let request = Request::delete(files(instance), doing, envelope::nothing);
    at(request, project, file)
}

fn files(instance: &str) -> String {
    path(&["instances", instance, "files"])
}

fn at<T>(request: Request<T>, project: &str, file: &str) -> Request<T> {
    request.project(project).query("path", file)
}

/// The headers say what the body is.
fn read(reply: &Reply) -> Result<File, Unusable> {
    let body = envelope::raw(reply)?;
    let content = match header(&reply.headers, "x-incus-type") {
        "directory" => Content::Folder(envelope::list(reply)?),
        "symlink" => Content::Link(String::from_utf8_lossy(body).trim_end().to_owned()),
        _ => Content::Regular(body.clone()),
    };
    let number = |name| header(&reply.headers, name).parse().unwrap_or(0);
    let owner = Owner {
        user: number("x-incus-uid"),
        group: number("x-incus-gid"),
        mode: u32::from_str_radix(header(&reply.headers, "x-incus-mode"), 8).ok(),
    };
    Ok(File { content, owner })
}

fn read_age(reply: &Reply) -> Result<Age, Unusable> {
    envelope::raw(reply)?;
    Ok(Age {
        kind: header(&reply.headers, "x-incus-type").to_owned(),
        written_at: written_at(header(&reply.headers, "x-incus-modified")),
        read_at: rfc2822::parse(header(&reply.headers, DATE.as_str()))
            .ok()
            .map(|zoned| zoned.timestamp()),
    })
}

/// Reads a moment as Go prints it, in the server's zone: `2026-11-30 18:52:12.5 +0100 CET`.
fn written_at(text: &str) -> Option<Timestamp> {
    let mut words = text.split_whitespace();
    let (date, time, offset) = (words.next()?, words.next()?, words.next()?);
    format!("{date}T{time}{offset}").parse().ok()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).map(|value| value.to_str());
    value.and_then(Result::ok).unwrap_or_default()
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Regular(bytes) => write!(f, "a file of {} bytes", bytes.len()),
            Self::Folder(names) => write!(f, "a folder of {} names", names.len()),
            Self::Link(target) => write!(f, "a link to {target}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::tests::reply;
    use crate::request::Body;

    #[test]
    fn requests_print() {
        let file = File {
            content: Content::Regular(Bytes::from_static(b"hunter2")),
            owner: Owner {
                user: 1000,
                group: 100,
                mode: Some(0o640),
            },
        };
        let put = put("p", "w", "/etc/a b", &file);
        assert_eq!(put.headers["x-incus-mode"], "0640");
        assert_eq!(put.headers["x-incus-uid"], "1000");
        assert_eq!(put.headers["x-incus-type"], "file");
        assert!(matches!(put.body(), Body::Raw(bytes) if bytes == "hunter2"));
        assert!(!format!("{file:?} {put:?} {:?}", put.body()).contains("hunter2"));
        let address = "/1.0/instances/w/files?project=p&path=%2Fetc%2Fa%20b";
        for (request, method) in [
            (age("p", "w", "/etc/a b").to_string(), "HEAD"),
            (get("p", "w", "/etc/a b").to_string(), "GET"),
            (put.to_string(), "POST"),
            (delete("p", "w", "/etc/a b").to_string(), "DELETE"),
        ] {
            assert_eq!(request, format!("{method} {address}"));
        }
    }

    #[test]
    fn the_headers_say_what_was_read() {
        for (kind, body, content) in [
            (
                "file",
                r#"{"type":"error"}"#,
                Content::Regular(Bytes::from_static(br#"{"type":"error"}"#)),
            ),
            (
                "directory",
                r#"{"type":"sync","metadata":["a","b"]}"#,
                Content::Folder(vec!["a".to_owned(), "b".to_owned()]),
            ),
            ("symlink", "/target\n", Content::Link("/target".to_owned())),
        ] {
            let mut reply = reply(200, body);
            for (name, value) in [
                ("x-incus-type", kind),
                ("x-incus-uid", "7"),
                ("x-incus-gid", "nonsense"),
                ("x-incus-mode", "0755"),
            ] {
                reply.headers.insert(name, value.parse().expect("a value"));
            }
            let file = read(&reply).expect(kind);
            assert_eq!(file.content, content);
            assert_eq!((file.owner.user, file.owner.group), (7, 0));
            assert_eq!(file.owner.mode, Some(0o755));
        }
    }

    #[test]
    fn the_headers_say_when_a_file_was_written_and_what_time_it_is() {
        let date = "Mon, 30 Nov 2026 17:52:14 GMT";
        let utc = "2026-11-30 17:52:12 +0000 UTC";
        let moment = |text: &str| Some(text.parse::<Timestamp>().expect("a moment"));
        let (written, read) = (
            moment("2026-11-30T17:52:12Z"),
            moment("2026-11-30T17:52:14Z"),
        );
        for (modified, date, written_at, read_at) in [
            (utc, date, written, read),
            ("2026-11-30 23:22:12 +0530 IST", date, written, read),
            ("2026-11-30 14:52:12 -0300 -03", date, written, read),
            (
                "2026-11-30 17:52:12.25 +0000 UTC",
                date,
                moment("2026-11-30T17:52:12.25Z"),
                read,
            ),
            (utc, "", written, None),
            (utc, "yesterday", written, None),
            ("", date, None, read),
            ("2026-11-30", date, None, read),
            ("2026-13-30 17:52:12 +0000 UTC", date, None, read),
        ] {
            let mut reply = reply(200, "");
            for (name, value) in [
                ("x-incus-type", "file"),
                ("x-incus-modified", modified),
                ("date", date),
            ] {
                reply.headers.insert(name, value.parse().expect("a value"));
            }
            let age = read_age(&reply).expect("an age");
            assert_eq!(age.kind, "file");
            assert_eq!(
                (age.written_at, age.read_at),
                (written_at, read_at),
                "{modified} {date}"
            );
        }
        assert!(read_age(&reply(404, "")).is_err());
    }
}
