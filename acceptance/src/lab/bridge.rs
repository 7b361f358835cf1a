//! A way from the network of a lab's member to the unix socket of another lab's daemon, as plain HTTP.
//!
//! So one daemon can be another's server of images, without certificates. It passes bytes on and knows nothing of them.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};

use super::Member;
use crate::process;

/// The way; it leads nowhere once the other lab is down.
#[derive(Debug)]
pub struct Bridge {
    address: String,
}

impl Bridge {
    /// Listens beside a member, on a port that was free, for what is meant for the socket.
    pub fn beside(member: &Member, socket: &Path) -> Result<Bridge> {
        let listener = listen(member)?;
        let address = listener.local_addr()?.to_string();
        let socket = socket.to_owned();
        // It waits until this process ends; nobody finds its way there when the lab is gone.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let socket = socket.clone();
                thread::spawn(move || pass_on(&stream, &socket));
            }
        });
        Ok(Bridge { address })
    }

    /// Where it listens.
    pub fn server(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Listens in the network of a member, at its address.
pub(super) fn listen(member: &Member) -> Result<TcpListener> {
    let network = Path::new("/run/netns").join(member.namespace());
    let host = member.address().to_owned();
    process::inside(&network, || Ok(TcpListener::bind((&*host, 0))?))
        .context("listening beside a member")
}

fn pass_on(near: &TcpStream, socket: &PathBuf) -> io::Result<()> {
    let far = UnixStream::connect(socket)?;
    thread::scope(|scope| {
        let back = scope.spawn(|| {
            let copied = io::copy(&mut &far, &mut &*near);
            let _ = near.shutdown(Shutdown::Write);
            copied
        });
        let there = io::copy(&mut &*near, &mut &far);
        let _ = far.shutdown(Shutdown::Write);
        let _ = back.join();
        there.map(drop)
    })
}
