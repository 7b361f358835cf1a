//! Which request is which.
//!
//! Before: `http.rs` has read it. After: the file of the object that it is about. What is not here does not exist, and is
//! named on stderr, so that nobody takes a gap for an answer of Incus.

use std::sync::Arc;

use super::answer::{Answer, Refusal, Told};
use super::call::Call;
use super::instance::{self, change, inside, meant, power};
use super::{Incus, cluster, image, network, operation, profile, project, storage};

pub(super) async fn answer(incus: &Arc<Incus>, call: &Call) -> Answer {
    let told = match call.is_beyond() {
        true => Err(unknown(call)),
        false => dispatch(incus, call).await,
    };
    told.unwrap_or_else(|refusal| refusal.answer())
}

fn unknown(call: &Call) -> Refusal {
    eprintln!("simulator: nothing here answers {call}");
    Refusal::new(404, "not found")
}

async fn dispatch(incus: &Arc<Incus>, call: &Call) -> Told {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let (family, below) = match path.as_slice() {
        ["1.0", family, below @ ..] => (*family, below),
        ["1.0"] => ("", [].as_slice()),
        [""] => return Ok(Answer::sync(&["/1.0"])),
        _ => return Err(unknown(call)),
    };
    match family {
        "" => match call.method.as_str() {
            "GET" => cluster::server(incus, call),
            "PATCH" => cluster::configure(incus, call),
            _ => Err(unknown(call)),
        },
        "instances" => instances(incus, call, below).await,
        "profiles" => profiles(incus, call, below).await,
        "projects" => projects(incus, call, below).await,
        "images" => images(incus, call, below),
        "operations" => operations(incus, call, below).await,
        "storage-pools" => pools(incus, call, below).await,
        "cluster" => members(incus, call, below),
        "certificates" | "networks" => looks(incus, call, family, below),
        _ => Err(unknown(call)),
    }
}

async fn instances(incus: &Arc<Incus>, call: &Call, path: &[&str]) -> Told {
    let of = meant(call, path.first().unwrap_or(&""));
    match (call.method.as_str(), path) {
        ("GET", []) => instance::list(incus, call),
        ("POST", []) => instance::create::create(incus, call),
        ("GET", [_]) => instance::get(incus, &of),
        ("PATCH", [_]) => change::patch(incus, &of, call).await,
        ("POST", [_]) => change::post(incus, &of, call),
        ("DELETE", [_]) => change::delete(incus, &of),
        ("GET", [_, "state"]) => instance::state(incus, &of),
        ("PUT", [_, "state"]) => power::set(incus, &of, call),
        ("POST", [_, "exec"]) => inside::exec(incus, &of, call),
        ("GET", [_, "console"]) => inside::console(incus, &of),
        ("GET", [_, "logs", "exec-output", file]) => inside::output(incus, &of, file),
        ("DELETE", [_, "logs", "exec-output", file]) => inside::delete_output(incus, &of, file),
        ("GET", [_, "logs", file]) => inside::log(incus, &of, file),
        ("GET" | "HEAD", [_, "files"]) => inside::file(incus, &of, call),
        ("POST", [_, "files"]) => inside::write_file(incus, &of, call),
        ("DELETE", [_, "files"]) => inside::delete_file(incus, &of, call),
        _ => Err(unknown(call)),
    }
}

async fn profiles(incus: &Incus, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", []) => profile::list(incus, call),
        ("POST", []) => profile::create(incus, call).await,
        ("GET", [name]) => profile::get(incus, call, name),
        ("PATCH", [name]) => profile::patch(incus, call, name).await,
        ("PUT", [name]) => profile::put(incus, call, name).await,
        ("DELETE", [name]) => profile::delete(incus, call, name).await,
        _ => Err(unknown(call)),
    }
}

async fn projects(incus: &Incus, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", []) => project::list(incus, call),
        ("POST", []) => project::create(incus, call).await,
        ("GET", [name]) => project::get(incus, name),
        ("DELETE", [name]) => project::delete(incus, name),
        _ => Err(unknown(call)),
    }
}

fn images(incus: &Arc<Incus>, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", []) => image::list(incus, call),
        ("POST", []) if call.header("content-type") != "application/json" => {
            image::upload(incus, call)
        }
        ("GET", ["aliases"]) => image::aliases(incus, call),
        ("POST", ["aliases"]) => image::create_alias(incus, call),
        // The name of an alias may be written with its slashes.
        ("GET", ["aliases", name @ ..]) => image::alias(incus, call, &name.join("/")),
        ("DELETE", ["aliases", name @ ..]) => image::delete_alias(incus, call, &name.join("/")),
        ("GET", [fingerprint]) => image::get(incus, call, fingerprint),
        ("DELETE", [fingerprint]) => image::delete(incus, call, fingerprint),
        _ => Err(unknown(call)),
    }
}

async fn operations(incus: &Incus, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", []) => operation::list(incus, call),
        ("GET", [id]) => operation::get(incus, id),
        ("GET", [id, "wait"]) => operation::wait(incus, id, call).await,
        _ => Err(unknown(call)),
    }
}

async fn pools(incus: &Incus, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", []) => storage::pools(incus, call),
        ("POST", []) => storage::create_pool(incus, call),
        ("GET", [pool]) => storage::pool(incus, pool),
        ("GET", [pool, "volumes", "custom"]) => storage::volumes(incus, call, pool),
        ("POST", [pool, "volumes", "custom"]) => storage::create_volume(incus, call, pool).await,
        ("GET", [pool, "volumes", "custom", name]) => storage::volume(incus, call, pool, name),
        ("DELETE", [pool, "volumes", "custom", name]) => {
            storage::delete_volume(incus, call, pool, name).await
        }
        _ => Err(unknown(call)),
    }
}

fn members(incus: &Incus, call: &Call, path: &[&str]) -> Told {
    match (call.method.as_str(), path) {
        ("GET", ["members"]) => cluster::members(incus, call),
        ("GET", ["members", name]) => cluster::member(incus, name),
        ("PUT", ["members", name]) => cluster::put_member(incus, call, name),
        ("GET", ["groups"]) => cluster::groups(incus, call),
        ("POST", ["groups"]) => cluster::create_group(incus, call),
        ("DELETE", ["groups", name]) => cluster::delete_group(incus, name),
        _ => Err(unknown(call)),
    }
}

/// What can only be looked at.
fn looks(incus: &Incus, call: &Call, family: &str, path: &[&str]) -> Told {
    match (call.method.as_str(), family, path) {
        ("GET", "certificates", []) => cluster::certificates(incus, call),
        ("GET", "networks", []) => network::list(incus, call),
        _ => Err(unknown(call)),
    }
}
