//! The address of a member: a host with a port, and never one that stands for all addresses.
//!
//! Before: `declared.rs`. After: what Incus is told to listen on, and what the other members are told.

use core::net::IpAddr;

use super::PORT;
use crate::given::Given;
use crate::issue::{Issue, attribute};
use crate::membership::spec::Address;

/// Why a text is no address of a member. The message continues "the address "…"".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// It is the address of a page, not of a host.
    #[error("has a scheme in front")]
    Scheme,
    /// It has a prefix length, or a path.
    #[error("has a slash in it")]
    Slash,
    /// The port is none.
    #[error("has the port {0:?}, which is none")]
    Port(String),
    /// It stands for all addresses of a machine.
    #[error(
        "stands for every address of a machine, and the other members have to be told one of them"
    )]
    Wildcard,
    /// It is the address of a group of machines.
    #[error("is not the address of one machine")]
    Group,
    /// It is neither an IP address nor a name.
    #[error("is neither an IP address nor the name of a host")]
    Host,
}

pub(super) fn read(given: &Given<String>, issues: &mut Vec<Issue>) -> Option<Address> {
    let text = given.known()?;
    let refuse = |error: Error| {
        Issue::new(
            attribute("address"),
            "The address of a member is not valid",
            format!(
                "The address {text:?} {error}. Expected HOST or HOST:PORT, such as homelab_instance.NAME.address or \
                 \"192.168.1.210:8443\"; without a port it is {PORT}."
            ),
        )
    };
    parse(text).map_err(|error| issues.push(refuse(error))).ok()
}

/// Reads an address; an IP address is brought into its usual spelling.
///
/// # Errors
/// The first reason why it is none.
pub fn parse(text: &str) -> Result<Address, Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    if text.contains("://") {
        return Err(Error::Scheme);
    }
    if text.contains('/') {
        return Err(Error::Slash);
    }
    let (host, port) = split(text);
    let port = match port {
        None => PORT,
        Some(digits) => port_number(digits).ok_or_else(|| Error::Port(digits.to_owned()))?,
    };
    let host = check_host(host)?;
    Ok(Address { host, port })
}

/// A colon stands in front of a port, unless there are several without brackets: then it is an IPv6 address.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some((host, behind)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return (
            host,
            (!behind.is_empty()).then(|| behind.strip_prefix(':').unwrap_or(behind)),
        );
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (text, None),
    }
}

fn port_number(digits: &str) -> Option<u16> {
    let number: u16 = digits.parse().ok()?;
    (number > 0 && digits.bytes().all(|digit| digit.is_ascii_digit())).then_some(number)
}

fn check_host(host: &str) -> Result<String, Error> {
    if matches!(host, "" | "*") {
        return Err(Error::Wildcard);
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return match address {
            address if address.is_unspecified() => Err(Error::Wildcard),
            address if address.is_multicast() => Err(Error::Group),
            IpAddr::V4(address) if address.is_broadcast() => Err(Error::Group),
            address => Ok(address.to_string()),
        };
    }
    // What consists of digits and dots only was meant as an IP address.
    let is_number = host
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let host = host.to_ascii_lowercase();
    let is_name = host.len() <= 253
        && host
            .split('.')
            .all(|label| crate::name::check_label(label).is_ok());
    match is_name && !is_number {
        true => Ok(host),
        false => Err(Error::Host),
    }
}
