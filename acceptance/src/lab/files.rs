//! A web server of a few files beside a lab's member: what a server of images is, for who only reads from it.
//!
//! The files are in memory, and end with the scenario. It listens in the member's network, where the member and commands
//! that are typed there reach it.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::{Member, bridge};
use crate::http::Head;

/// Who asks for nothing by then is not served.
const LONGEST_QUESTION: Duration = Duration::from_secs(10);

/// What is served, by path.
type Served = Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>;

/// A web server of files.
#[derive(Debug)]
pub struct Files {
    address: String,
    served: Served,
}

impl Files {
    /// Listens beside a member, on a port that was free.
    pub fn beside(member: &Member) -> Result<Files> {
        let listener = bridge::listen(member)?;
        let address = listener.local_addr()?.to_string();
        let served = Served::default();
        let shared = Arc::clone(&served);
        // It waits for questions until this process ends; nobody finds its way there when the lab is gone.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&shared);
                thread::spawn(move || answer(&stream, &served));
            }
        });
        Ok(Files { address, served })
    }

    /// Where its files are.
    pub fn server(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves this under a path from now on.
    pub fn put(&self, path: &str, content: Vec<u8>) {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.insert(format!("/{path}"), Arc::new(content));
    }

    /// Serves nothing any more.
    pub fn clear(&self) {
        self.served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

fn answer(stream: &TcpStream, served: &Served) -> Option<()> {
    stream.set_read_timeout(Some(LONGEST_QUESTION)).ok()?;
    let question = Head::read(&mut BufReader::new(stream)).ok()??;
    let path = question.target().split('?').next().unwrap_or_default();
    let found = served
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(path)
        .cloned();
    let status = if found.is_some() {
        "200 OK"
    } else {
        "404 Not Found"
    };
    let content = found.unwrap_or_default();
    let length = content.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    match question.method() {
        "HEAD" => Some(()),
        _ => stream.write_all(&content).ok(),
    }
}
