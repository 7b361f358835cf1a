//! What holds between the fields of one file, where IncusOS would refuse or, worse, only log it.

use crate::seed::json::Json;

pub(super) fn check(name: &str, file: &Json, faults: &mut Vec<String>) {
    match name {
        "services" => check_services(file, faults),
        "provider" => check_provider(file, faults),
        "storage" => check_storage(file, faults),
        _ => {}
    }
}

fn check_services(file: &Json, faults: &mut Vec<String>) {
    let part =
        |service: &str, field: &str| file.get(service).and_then(|service| service.get(field));
    if part("tailscale", "serve_port") == Some(&Json::Whole(8443)) {
        faults.push(
            "tailscale.serve_port is 8443, where Incus listens. Expected another port.".to_owned(),
        );
    }
    if part("ovn", "enabled") == Some(&Json::Flag(true)) && part("ovn", "database").is_none() {
        faults.push("ovn.database is missing, which an enabled ovn needs. Set it.".to_owned());
    }
}

fn check_provider(file: &Json, faults: &mut Vec<String>) {
    if file.get("name") != Some(&Json::Text("operations-center".to_owned())) {
        return;
    }
    for field in ["server_url", "server_token"] {
        if file
            .get("config")
            .and_then(|config| config.get(field))
            .is_none()
        {
            faults.push(format!(
                "config.{field} is missing, which the provider operations-center needs. Set it."
            ));
        }
    }
}

/// Two pools of one name, or one disk in two places.
fn check_storage(file: &Json, faults: &mut Vec<String>) {
    let Some(Json::List(pools)) = file.get("pools") else {
        return;
    };
    let mut names: Vec<&Json> = Vec::new();
    let mut disks: Vec<&Json> = Vec::new();
    for (index, pool) in pools.iter().enumerate() {
        if let Some(name) = pool.get("name") {
            if names.contains(&name) {
                faults.push(format!(
                    "pools[{index}].name is the name of a pool before it. Expected another one."
                ));
            }
            names.push(name);
        }
        let special = pool
            .get("special")
            .and_then(|special| special.get("devices"));
        let parts = [
            pool.get("devices"),
            pool.get("cache"),
            pool.get("log"),
            special,
        ];
        for part in parts.into_iter().flatten() {
            let Json::List(devices) = part else {
                continue;
            };
            for disk in devices {
                if disks.contains(&disk) {
                    faults.push(format!("pools[{index}] uses a disk that is used before. Remove it from one of the two."));
                }
                disks.push(disk);
            }
        }
    }
}
