//! Instances: the requests as they are printed, and answers as servers send them.

use super::*;
use crate::envelope::tests::reply;
use crate::request::Body;

fn body<T>(request: &Request<T>) -> &Value {
    match request.body() {
        Body::Json(body) => body,
        other => panic!("no JSON body: {other:?}"),
    }
}

#[test]
fn requests_print() {
    let post = InstancePost::new("web-0-g0", Source::Alias("app/v1".to_owned()));
    let keys = BTreeMap::new();
    let minute = Duration::from_secs(60);
    for (request, printed) in [
        (
            list("p").to_string(),
            "GET /1.0/instances?project=p&recursion=1",
        ),
        (
            list_everywhere().to_string(),
            "GET /1.0/instances?all-projects=true&recursion=1",
        ),
        (names("p").to_string(), "GET /1.0/instances?project=p"),
        (get("p", "w").to_string(), "GET /1.0/instances/w?project=p"),
        (
            create("p", &post).to_string(),
            "POST /1.0/instances?project=p",
        ),
        (
            create("p", &post).target("m 1").to_string(),
            "POST /1.0/instances?project=p&target=m%201",
        ),
        (
            patch_config("p", "w", &keys, "").to_string(),
            "PATCH /1.0/instances/w?project=p",
        ),
        (
            set_state("p", "w", Action::Stop, minute, false).to_string(),
            "PUT /1.0/instances/w/state?project=p",
        ),
        (
            state("p", "w").to_string(),
            "GET /1.0/instances/w/state?project=p",
        ),
        (
            delete("p", "w").to_string(),
            "DELETE /1.0/instances/w?project=p",
        ),
        (
            rename("p", "w", "v").to_string(),
            "POST /1.0/instances/w?project=p",
        ),
        (
            console_log("p", "w").to_string(),
            "GET /1.0/instances/w/console?project=p",
        ),
        (
            log_file("p", "w", "lxc.log").to_string(),
            "GET /1.0/instances/w/logs/lxc.log?project=p",
        ),
        (
            exec("p", "w", &Command::default()).to_string(),
            "POST /1.0/instances/w/exec?project=p",
        ),
    ] {
        assert_eq!(request, printed);
    }
    assert_eq!(
        create("p", &post).target("m1").doing(),
        "creating instance web-0-g0 on member m1"
    );
}

/// A server that is not told the description again forgets it.
#[test]
fn a_change_of_keys_says_the_description_again() {
    let keys = BTreeMap::from([("user.k".to_owned(), "v".to_owned())]);
    let expected = json!({ "config": { "user.k": "v" }, "description": "kept" });
    assert_eq!(*body(&patch_config("p", "w", &keys, "kept")), expected);
}

#[test]
fn a_creation_says_what_the_instance_is_made_from() {
    for (source, expected) in [
        (Source::Empty, json!({ "type": "none" })),
        (
            Source::Fingerprint("ab".to_owned()),
            json!({ "type": "image", "fingerprint": "ab" }),
        ),
        (
            Source::Alias("app/v1".to_owned()),
            json!({ "type": "image", "alias": "app/v1" }),
        ),
    ] {
        let mut post = InstancePost::new("w", source);
        let request = create("p", &post);
        assert_eq!(body(&request)["source"], expected);
        assert_eq!(body(&request)["type"], "container");
        // No profiles is a wish of its own, and not the server's default.
        assert_eq!(body(&request).get("profiles"), None);
        post.profiles = Some(Vec::new());
        assert_eq!(body(&create("p", &post))["profiles"], json!([]));
    }
}

#[test]
fn state_changes_carry_their_limits() {
    let request = set_state("p", "w", Action::Stop, Duration::from_secs(60), true);
    assert_eq!(request.doing(), "stopping instance w");
    assert_eq!(
        body(&request),
        &json!({ "action": "stop", "timeout": 60, "force": true })
    );
}

#[test]
fn an_instance_of_a_dead_member_keeps_its_unknowns_apart_from_empty() {
    let answer = r#"{"type":"sync","metadata":[
        {"name":"a","status":"Error","status_code":112,"location":"m2","project":"p",
         "type":"container","config":null,"devices":null,"profiles":null},
        {"name":"b","status":"Running","status_code":103,"location":"m1","project":"p",
         "type":"container","config":{"user.k":"hunter2"},"devices":{},"profiles":[],
         "expanded_config":{},"expanded_devices":{"root":{"type":"disk","path":"/"}}}]}"#;
    let instances = (list("p").read)(&reply(200, answer)).expect("instances");
    assert_eq!(instances[0].location, "m2");
    assert_eq!(instances[0].config, None);
    assert_eq!(instances[0].devices, None);
    assert_eq!(instances[0].profiles, None);
    assert_eq!(instances[1].profiles, Some(Vec::new()));
    assert_eq!(instances[1].config.as_ref().map(BTreeMap::len), Some(1));
    assert!(!format!("{instances:?}").contains("hunter2"));
}

#[test]
fn commands_do_not_print_their_values() {
    let command = Command {
        command: vec!["login".to_owned(), "--password=hunter2".to_owned()],
        environment: BTreeMap::from([("TOKEN".to_owned(), "hunter3".to_owned())]),
        ..Command::default()
    };
    let request = exec("p", "w", &command);
    assert_eq!(body(&request)["record-output"], true);
    assert_eq!(body(&request)["command"][1], "--password=hunter2");
    let printed = format!("{command:?} {request:?} {}", request.doing());
    assert!(!printed.contains("hunter"), "{printed}");
}

#[test]
fn only_global_addresses_count() {
    let answer = r#"{"type":"sync","metadata":{"status":"Running","status_code":103,"pid":77,"network":{
        "lo":{"type":"loopback","addresses":[{"address":"127.0.0.1","scope":"local"},{"address":"10.9.9.9","scope":"global"}]},
        "eth1":{"type":"broadcast","addresses":null},
        "eth0":{"type":"broadcast","addresses":[
            {"family":"inet6","address":"fe80::1","scope":"link"},
            {"family":"inet","address":"10.0.0.7","netmask":"24","scope":"global"},
            {"family":"inet","address":"nonsense","scope":"global"},
            {"family":"inet6","address":"fd00::7","scope":"global"}]}}}}"#;
    let running = (state("p", "w").read)(&reply(200, answer)).expect("a state");
    let addresses: Vec<String> = running
        .global_addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(addresses, ["10.0.0.7", "fd00::7"]);
    let answer = r#"{"type":"sync","metadata":{"status":"Stopped","network":null}}"#;
    let stopped = (state("p", "w").read)(&reply(200, answer)).expect("a state");
    assert!(stopped.global_addresses().is_empty());
}

#[test]
fn services_are_asked_at_the_first_address_that_incus_has_given() {
    let lo = r#""lo":{"type":"loopback","host_name":"","addresses":[{"address":"10.9.9.9","scope":"global"}]}"#;
    let docker = r#""docker0":{"type":"broadcast","host_name":"","addresses":[
        {"family":"inet","address":"172.17.0.1","scope":"global"}]}"#;
    let both = r#""eth0":{"type":"broadcast","host_name":"veth1","addresses":[
        {"family":"inet6","address":"fe80::1","scope":"link"},
        {"family":"inet6","address":"fd00::7","scope":"global"},
        {"family":"inet","address":"10.0.0.7","scope":"global"}]}"#;
    let second = r#""eth1":{"type":"broadcast","host_name":"veth2","addresses":[
        {"family":"inet","address":"10.1.0.7","scope":"global"}]}"#;
    let six = r#""eth0":{"type":"broadcast","host_name":"veth1","addresses":[
        {"family":"inet6","address":"fd00::7","scope":"global"}]}"#;
    let direct = r#""eth0":{"type":"broadcast","host_name":"","addresses":[
        {"family":"inet","address":"192.168.1.7","scope":"global"}]}"#;
    for (interfaces, expected) in [
        (vec![lo], None),
        (vec![lo, docker, both, second], Some("10.0.0.7")),
        (vec![lo, docker, six], Some("fd00::7")),
        (vec![six, second], Some("10.1.0.7")),
        (vec![lo, direct], Some("192.168.1.7")),
    ] {
        let network = interfaces.join(",");
        let answer = format!(r#"{{"type":"sync","metadata":{{"network":{{{network}}}}}}}"#);
        let state = (state("p", "w").read)(&reply(200, &answer)).expect("a state");
        let address = state.service_address().map(|address| address.to_string());
        assert_eq!(address.as_deref(), expected, "{network}");
    }
}
