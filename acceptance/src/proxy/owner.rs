//! Whose a TCP connection is: a socket does not say, so the kernel's tables are looked through.
//!
//! Only done when somebody is to be killed.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::process;

/// The process that holds the connection whose own end is `client`, in the network of the calling thread.
pub(super) fn of(client: SocketAddr) -> io::Result<u32> {
    let table = fs::read_to_string("/proc/thread-self/net/tcp")?;
    let nobody = || io::Error::new(io::ErrorKind::NotFound, format!("nobody holds {client}"));
    let link = format!("socket:[{}]", inode(&table, client).ok_or_else(nobody)?);
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        links.any(|file| file.as_os_str() == link.as_str())
    };
    process::all().into_iter().find(holds).ok_or_else(nobody)
}

/// The number of the socket with this address of its own: the kernel writes addresses in hexadecimal, the bytes of the
/// host in the machine's order.
fn inode(table: &str, client: SocketAddr) -> Option<&str> {
    let IpAddr::V4(host) = client.ip() else {
        return None;
    };
    let host = u32::from_ne_bytes(host.octets());
    let own = format!("{host:08X}:{:04X}", client.port());
    let mut rows = table.lines().map(|row| row.split_whitespace());
    rows.find_map(|mut row| (row.nth(1)? == own).then(|| row.nth(7)).flatten())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_traced_to_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let client = TcpStream::connect(listener.local_addr().expect("an address"));
        let client = client.expect("connected");
        let address = client.local_addr().expect("an address");
        assert_eq!(of(address).expect("an owner"), std::process::id());
        drop((client, listener));
        let error = of("127.0.0.1:1".parse().expect("an address")).expect_err("nobody");
        assert!(error.to_string().contains("nobody holds"), "{error}");
    }
}
