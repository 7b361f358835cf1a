//! The line that makes hosts use a process that is running already (`serve_with` in `serve.rs`, argument `--debug`).

use std::path::Path;

use serde_json::json;

/// A line for a shell. `Test` tells the host to leave the process alive.
pub(crate) fn line(address: &str, process: u32, socket: &Path) -> String {
    let provider = json!({
        "Protocol": "grpc",
        "ProtocolVersion": 6,
        "Pid": process,
        "Test": true,
        "Addr": { "Network": "unix", "String": socket.display().to_string() },
    });
    // In single quotes a shell reads everything but the quote itself.
    let providers = json!({ address: provider })
        .to_string()
        .replace('\'', r"'\''");
    format!("TF_REATTACH_PROVIDERS='{providers}'\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_line() {
        let line = line("registry.example/a/b", 7, Path::new("/tmp/it's/socket"));
        let script = format!("{line}printf %s \"$TF_REATTACH_PROVIDERS\"");
        let said = std::process::Command::new("sh")
            .args(["-c", &script])
            .output();
        let said: serde_json::Value =
            serde_json::from_slice(&said.expect("a shell").stdout).expect("JSON");
        let provider = &said["registry.example/a/b"];
        assert_eq!(provider["Addr"]["String"], "/tmp/it's/socket");
        assert_eq!(
            (&provider["Pid"], &provider["Test"]),
            (&json!(7), &json!(true))
        );
        assert_eq!(provider["ProtocolVersion"], 6);
    }
}
