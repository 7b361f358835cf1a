//! The program itself, started by hand: with `--debug` as a developer does, and without as a curious user does.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terraform-provider-homelab"));
    command
        .env_remove("TF_PLUGIN_MAGIC_COOKIE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The address has to be the one that `source = "homelab-ops/homelab"` means, or no host would use the process.
#[test]
fn with_debug_it_says_how_hosts_can_use_it() {
    let mut provider = program().arg("--debug").spawn().expect("a process");
    let mut line = String::new();
    let output = provider.stdout.take().expect("its output");
    let read = BufReader::new(output).read_line(&mut line);
    let pid = provider.id();
    // As Ctrl-C does. One that does not end of it is killed, and fails below.
    let interrupt = Command::new("kill")
        .args(["-INT", &pid.to_string()])
        .status();
    interrupt.expect("a kill program");
    let given_up_at = Instant::now() + Duration::from_secs(10);
    while provider.try_wait().expect("a status").is_none() {
        if Instant::now() > given_up_at {
            provider.kill().expect("an end by force");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(provider.wait().expect("an end").success());
    read.expect("a line");
    let told = line
        .trim_end()
        .strip_prefix("TF_REATTACH_PROVIDERS='")
        .and_then(|rest| rest.strip_suffix('\''))
        .expect("a variable for a shell");
    let told: serde_json::Value = serde_json::from_str(told).expect("JSON");
    let provider = &told["registry.opentofu.org/homelab-ops/homelab"];
    assert_eq!(provider["Pid"], pid, "{told}");
}

#[test]
fn without_a_host_it_says_that_it_is_a_plugin_and_fails() {
    let output = program().output().expect("a process");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(said.contains("plugin"), "{said}");
}
