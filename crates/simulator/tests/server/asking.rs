//! A server for one test, and a client that knows nothing but HTTP.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};
use simulator::server::{Options, Server};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A server that ends with the test.
pub(crate) struct Served {
    pub(crate) socket: PathBuf,
    pub(crate) runtime: Runtime,
    _server: Server,
    _folder: TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    head: String,
    pub(crate) content: String,
}

pub(crate) fn serve(options: &Options) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("unix.socket");
    let runtime = Runtime::new().expect("a runtime");
    let server = runtime.block_on(async { Server::start(&socket, options) });
    Served {
        _server: server.expect("a server"),
        socket,
        runtime,
        _folder: folder,
    }
}

impl Served {
    /// Sends a request over a connection of its own.
    pub(crate) fn ask(&self, line: &str, headers: &[(String, String)], body: &[u8]) -> Answered {
        let mut stream = UnixStream::connect(&self.socket).expect("a connection");
        let mut head = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).expect("a head");
        stream.write_all(body).expect("a body");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, content) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answered {
            status: status.expect("a status"),
            head: head.to_owned(),
            content: content.to_owned(),
        }
    }

    pub(crate) fn json(&self, line: &str, body: &Value) -> Answered {
        let headers = [("Content-Type".to_owned(), "application/json".to_owned())];
        self.ask(line, &headers, body.to_string().as_bytes())
    }

    /// The metadata of a plain answer.
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask(&format!("GET {path}"), &[], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.content);
        answer.document()["metadata"].take()
    }

    /// Follows the operation that an answer began.
    pub(crate) fn end_of(&self, answer: &Answered) -> Value {
        let document = answer.document();
        let address = document["operation"].as_str().expect("an operation");
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        self.ask(&format!("GET {path}/wait?{query}"), &[], b"")
            .document()
    }

    /// Gives it an image with this alias, and tells its fingerprint.
    pub(crate) fn image(&self, alias: &str, properties: &[(&str, &str)], file: &str) -> String {
        let mut yaml = "architecture: x86_64\ncreation_date: 1700000000\nproperties:\n".to_owned();
        for (key, value) in properties {
            yaml.push_str(&format!("  {key}: {value}\n"));
        }
        let archive = [entry("metadata.yaml", &yaml), entry(file, "")].concat();
        let headers = [(
            "Content-Type".to_owned(),
            "application/octet-stream".to_owned(),
        )];
        let ended = self.end_of(&self.ask("POST /1.0/images", &headers, &archive));
        let fingerprint = ended["metadata"]["metadata"]["fingerprint"].clone();
        let name = json!({ "name": alias, "target": fingerprint });
        let named = self.json("POST /1.0/images/aliases", &name);
        assert_eq!(named.status, 201, "{}", named.content);
        fingerprint.as_str().expect("a fingerprint").to_owned()
    }
}

impl Answered {
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.content).unwrap_or_else(|_| panic!("no JSON: {}", self.content))
    }

    /// A header by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// One entry of a tar.
fn entry(name: &str, content: &str) -> Vec<u8> {
    let mut entry = vec![0; 512];
    entry[..name.len()].copy_from_slice(name.as_bytes());
    entry[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    entry[257..262].copy_from_slice(b"ustar");
    entry.extend(content.as_bytes());
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}
