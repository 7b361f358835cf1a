//! How many seeds are judged and rendered in a second, for `make bench`.
#![allow(clippy::print_stdout, reason = "this is the program's way to speak")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use domain::given::Given;
use domain::machine::{self, DeclaredNetwork};
use domain::seed::{Declared, DeclaredWireguard, Keys};

const ENOUGH: Duration = Duration::from_secs(2);

fn known(text: &str) -> Given<String> {
    Given::Known(text.to_owned())
}

/// A joiner with an overlay: the largest of the usual ones.
fn seed(name: &str) -> Declared {
    let dns = Given::Known(vec![known("192.168.1.1")]);
    let network = DeclaredNetwork {
        name: known("lan"),
        cidr: known("192.168.1.0/24"),
        gateway: known("192.168.1.1"),
        dns,
    };
    let wireguard = DeclaredWireguard {
        cidr: known("10.100.0.0/24"),
        address: known("10.100.0.3"),
        endpoint: known("hub.example.net:51820"),
        public_key: known("pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4="),
        keepalive: Given::Absent,
    };
    Declared {
        machine: machine::Declared {
            name: known(name),
            mac: known("52:54:00:00:00:0a"),
            network: Given::Known(network),
            address: known("192.168.1.210"),
            role: known("join"),
            ..machine::Declared::default()
        },
        break_glass_certificate: known(include_str!("../tests/seeds/certificates/break-glass.pem")),
        joiner_certificate: known(include_str!("../tests/seeds/certificates/joiner.pem")),
        wireguard: Given::Known(wireguard),
        ..Declared::default()
    }
}

fn main() {
    let keys = Keys {
        wireguard: known("aGVyZSBpcyBhIGtleSB0aGF0IG9wZW5zIG5vdGhpbmc=")
            .known()
            .cloned(),
        metrics_certificate: include_str!("../tests/seeds/certificates/metrics.pem").to_owned(),
    };
    let since = Instant::now();
    let mut rendered = 0_u32;
    while since.elapsed() < ENOUGH {
        let seed = seed(&format!("node{}", rendered % 1000));
        assert!(seed.check().is_empty(), "the seed is refused");
        let files = black_box(seed.render(Some(&keys)));
        assert_eq!(
            files.values().filter(|file| file.known().is_some()).count(),
            4
        );
        rendered += 1;
    }
    println!(
        "{:.0} judged and rendered in a second",
        f64::from(rendered) / since.elapsed().as_secs_f64()
    );
}
