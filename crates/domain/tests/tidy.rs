//! The invariants of `docs/architecture.md` as tests; the house rules are in `tidy/house_rules.rs`.
//!
//! They read the workspace as text, so a rule that breaks shows with its reason before a reviewer has to know it.
//! Numbers are those of docs/architecture.md, section "Invariants"; what no text can show is held by a test that is
//! named there, and the last test here checks that it exists.

#[path = "tidy/house_rules.rs"]
mod house_rules;
#[path = "tidy/sources.rs"]
mod sources;

use sources::{Source, dependencies, has_word, manifests, read, rust};

fn assert_none(reason: &str, offenders: &[String]) {
    assert!(
        offenders.is_empty(),
        "{reason}\n  {}",
        offenders.join("\n  ")
    );
}

/// The lines of product code that have one of these words.
fn lines_with(sources: &[Source], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for (number, line) in source.product_code() {
            if words.iter().any(|word| has_word(line, word)) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    found
}

/// Invariant 1. The wire's types would otherwise spread, and every change of the protocol with them.
#[test]
fn only_tfplugin_knows_the_wire() {
    let wire = [
        "tonic",
        "tonic-prost",
        "tonic-prost-build",
        "prost",
        "prost-types",
        "protox",
        "rmpv",
    ];
    let elsewhere: Vec<String> = manifests()
        .iter()
        .filter(|manifest| manifest.path != "crates/tfplugin/Cargo.toml")
        .flat_map(|manifest| {
            dependencies(&manifest.text, true)
                .into_iter()
                .filter(|name| wire.contains(name))
                .map(|name| format!("{}: {name}", manifest.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none(
        "only crates/tfplugin depends on the wire's crates:",
        &elsewhere,
    );

    // The library serves any provider, so that its rules can be understood and tested without ours.
    let mut ours = lines_with(
        &rust(&["crates/tfplugin/src"]),
        &["domain", "incus", "reconcile"],
    );
    for source in rust(&["crates/tfplugin"]) {
        if source.text.to_lowercase().contains("homelab") {
            ours.push(format!("{} names homelab", source.path));
        }
    }
    assert_none("crates/tfplugin names nothing of homelab:", &ours);
}

/// Invariant 2. Decisions are then functions of their arguments: they can be replayed, and tested without waiting.
#[test]
fn domain_has_no_async_clock_randomness_or_io() {
    let banned = [
        "async",
        "await",
        "tokio",
        "futures_util",
        "Instant",
        "SystemTime",
        "jiff",
        "rand",
        "getrandom",
        "std::fs",
        "std::io",
        "std::env",
        "std::process",
        "std::thread",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "UnixStream",
        "ToSocketAddrs",
        "println",
        "eprintln",
        "static mut",
        "Mutex",
        "OnceLock",
        // Their order is random, and would reach the decisions. BTreeMap and BTreeSet have one order.
        "HashMap",
        "HashSet",
    ];
    let found = lines_with(&rust(&["crates/domain/src"]), &banned);
    assert_none(
        "domain decides and does nothing else; time, ids and randomness are arguments:",
        &found,
    );

    let manifest = read("crates/domain/Cargo.toml");
    let allowed = [
        "base64",
        "schemars",
        "serde",
        "serde_json",
        "sha2",
        "thiserror",
        // Says whether a seed's certificate is one; it parses bytes, and knows neither files nor time.
        "x509-cert",
    ];
    let others: Vec<String> = dependencies(&manifest, false)
        .into_iter()
        .filter(|name| !allowed.contains(name))
        .map(str::to_owned)
        .collect();
    assert_none(
        "domain depends on crates that have no effects only:",
        &others,
    );
}

/// Invariant 3. What reaches a server is then found in two files, and printed, counted and killed there.
#[test]
fn only_client_and_transport_perform_requests() {
    let senders = [
        "crates/incus/src/client.rs",
        "crates/incus/src/transport.rs",
        // It asks workloads, and no server of Incus.
        "crates/incus/src/service.rs",
        // It asks servers of images what a name stands for.
        "crates/incus/src/image_server/fetch.rs",
    ];
    let sources: Vec<Source> = rust(&[
        "crates/domain/src",
        "crates/incus/src",
        "crates/reconcile/src",
        "crates/simulator/src",
        "provider/src",
        "cli/src",
    ])
    .into_iter()
    .filter(|source| !senders.contains(&source.path.as_str()))
    // The transport's own parts: how it connects, and how it becomes a websocket.
    .filter(|source| !source.path.starts_with("crates/incus/src/transport/"))
    .filter(|source| !source.path.contains("/tests"))
    .collect();
    let sending = [
        "UnixStream",
        "TcpStream",
        "TcpSocket",
        "UdpSocket",
        "SendRequest",
        "send_request",
        "hyper::client",
        "hyper_util::client",
        "client_async",
        "connect_async",
        "reqwest",
        "ToSocketAddrs",
        "lookup_host",
    ];
    assert_none(
        "only incus/src/client.rs and transport.rs send anything, service.rs to workloads, fetch.rs to servers of images:",
        &lines_with(&sources, &sending),
    );
    let clients: Vec<String> = manifests()
        .iter()
        .filter(|manifest| {
            ![
                "crates/incus/Cargo.toml",
                // They are servers, and have no client's features; what they send is looked for above.
                "crates/simulator/Cargo.toml",
                "crates/tfplugin/Cargo.toml",
            ]
            .contains(&manifest.path.as_str())
        })
        .flat_map(|manifest| {
            dependencies(&manifest.text, false)
                .into_iter()
                .filter(|name| {
                    [
                        "hyper",
                        "hyper-util",
                        "reqwest",
                        "tokio-tungstenite",
                        "ureq",
                    ]
                    .contains(name)
                })
                .map(|name| format!("{}: {name}", manifest.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none("only crates/incus has an HTTP client:", &clients);
}

/// Invariant 4. A choice made while executing is one that no plan showed and no test of a decision saw.
#[test]
fn execution_makes_no_choices() {
    let path = "crates/reconcile/src/execute.rs";
    let source = Source {
        path: path.to_owned(),
        text: read(path),
    };
    // Whoever chooses has to know something; the performer knows the step, and nothing of the world or the record.
    let knowing = [
        "observe",
        "observation",
        "Observation",
        "World",
        "Work",
        "Decision",
        "decide",
        "forecast",
        "placement",
        "clock::now",
        "instance::list",
        "cluster::members",
    ];
    let found = lines_with(std::slice::from_ref(&source), &knowing);
    assert_none(
        "execute.rs performs steps; what to do is decided in domain:",
        &found,
    );

    let mut wrong = Vec::new();
    for variant in variants(&read("crates/domain/src/rollout/step.rs"), "Step") {
        let arm = format!("Step::{variant}");
        let arms = source
            .product_code()
            .filter(|(_, line)| has_word(line, &arm))
            .count();
        if arms != 1 {
            wrong.push(format!("{arm} has {arms} arms"));
        }
    }
    assert_none("execute.rs has one arm for each step:", &wrong);
    assert_none(
        "a branch or a catch-all in execute needs its reason on the line above:",
        &bare_branches(&source),
    );
}

/// The names of an enum's variants, from its text.
fn variants(text: &str, name: &str) -> Vec<String> {
    let start = format!("pub enum {name} {{");
    let body = text.lines().skip_while(|line| *line != start).skip(1);
    let variants: Vec<String> = body
        .take_while(|line| *line != "}")
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(char::is_uppercase))
        .map(|line| line.trim_end_matches([' ', '{', ',', '(']).to_owned())
        .collect();
    assert!(!variants.is_empty(), "there is no enum {name}");
    variants
}

/// The lines of `fn execute` that branch on something else than the step, without a comment on the line above.
fn bare_branches(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let starts = |line: &&str| line.contains("async fn execute(");
    let start = lines
        .iter()
        .position(starts)
        .unwrap_or_else(|| panic!("{} has no execute", source.path));
    let end = lines[start..]
        .iter()
        .position(|line| *line == "}")
        .map_or(lines.len(), |length| start + length);
    (start..end)
        .filter(|index| {
            let line = lines[*index].trim();
            let branches =
                has_word(line, "if") || has_word(line, "while") || line.starts_with("_ ");
            branches && !line.starts_with("//") && !lines[index - 1].trim().starts_with("//")
        })
        .map(|index| format!("{}:{}: {}", source.path, index + 1, lines[index].trim()))
        .collect()
}

/// Invariant 8. Whoever clones the repository can test it, and a test that needs a machine is a scenario.
#[test]
fn cargo_test_needs_no_root_network_or_incus() {
    let workspace = read("Cargo.toml");
    let members = workspace
        .lines()
        .find(|line| line.starts_with("default-members"))
        .unwrap_or_default();
    assert!(
        members.contains("\"provider\"") && !members.contains("acceptance"),
        "cargo test without arguments leaves the scenarios out: {members:?}"
    );
    let needing = [
        "Command::new(\"incus\")",
        "Command::new(\"incusd\")",
        "Command::new(\"tofu\")",
        "Command::new(\"sudo\")",
        "Command::new(\"ip\")",
        "#[ignore",
        "geteuid",
    ];
    let mut found = Vec::new();
    for source in rust(&["crates", "provider", "cli"]) {
        if source.path.starts_with("crates/domain/tests/tidy") {
            continue;
        }
        for (number, line) in source.code() {
            if needing.iter().any(|need| line.contains(need)) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_none(
        "a test beside the code needs nothing; move it to acceptance:",
        &found,
    );
}

/// Invariants 1 to 8 stand in docs/architecture.md, each with the test that holds it, as `path/to/file.rs::test_name`.
#[test]
fn every_invariant_names_a_test_that_exists() {
    let text = read("docs/architecture.md");
    let section = text
        .split_once("\n## Invariants")
        .map(|(_, behind)| behind.split("\n## ").next().unwrap_or(behind))
        .unwrap_or_default();
    let mut wrong = Vec::new();
    for number in 1..=8 {
        let Some((_, item)) = section.split_once(&format!("\n{number}. ")) else {
            wrong.push(format!("invariant {number} is missing"));
            continue;
        };
        let item = item
            .split(&format!("\n{}. ", number + 1))
            .next()
            .unwrap_or(item);
        let holders: Vec<(&str, &str)> = item
            .split('`')
            .filter_map(|quoted| quoted.split_once(".rs::"))
            .collect();
        if holders.is_empty() {
            wrong.push(format!("invariant {number} names no test"));
        }
        for (file, test) in holders {
            let exists = std::fs::read_to_string(sources::root().join(format!("{file}.rs")))
                .is_ok_and(|text| text.contains(&format!("fn {test}(")));
            if !exists {
                wrong.push(format!(
                    "invariant {number}: there is no test {file}.rs::{test}"
                ));
            }
        }
    }
    assert_none("docs/architecture.md and the tests agree:", &wrong);
}
