//! What is read of the user's own Incus client, and what is said of what cannot be used.

use std::ffi::OsString;
use std::path::Path;

use incus::{Endpoint, Fingerprint, Folders};

const CONFIG: &str = "default-remote: home
remotes:
  home: {addr: 'https://10.0.0.1:8443', auth_type: tls, project: lab, protocol: incus, public: false}
  bare: {addr: 'https://10.0.0.2'}
  socket: {addr: 'unix:///run/incus/unix.socket'}
  odd: {addr: 'unix:/run/odd'}
  here: {addr: 'unix://', public: false}
  images: {addr: 'https://images.example', protocol: simplestreams, public: true}
  shop: {addr: 'https://10.0.0.3', protocol: incus, public: true}
  person: {addr: 'https://10.0.0.4', auth_type: oidc}
  broken: {addr: 'ftp://10.0.0.5'}
aliases: {}
";

fn pair() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["me".to_owned()]).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// A user with this configuration, a certificate for all remotes, and the certificate of `home`.
fn user() -> (tempfile::TempDir, Folders, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (user, global) = (folder.path().join("user"), folder.path().join("global"));
    let (certificate, key) = pair();
    write(&user.join("config.yml"), CONFIG);
    write(&user.join("client.crt"), &certificate);
    write(&user.join("client.key"), &key);
    write(&user.join("servercerts/home.crt"), &pair().0);
    write(
        &global.join("config.yml"),
        "remotes:\n  site:\n    addr: https://10.0.0.9\n",
    );
    let socket = folder.path().join("unix.socket");
    let folders = Folders {
        user,
        global,
        socket,
    };
    (folder, folders, certificate)
}

#[test]
fn a_remote_is_used_as_the_client_uses_it() {
    let (folder, folders, certificate) = user();
    let remote = folders.remote("home", None).expect("a remote");
    assert_eq!(remote.endpoint.to_string(), "https://10.0.0.1:8443");
    let identity = remote.trust.identity.expect("an identity");
    let shared = Fingerprint::of_pem(&certificate).expect("a certificate");
    assert_eq!(identity.fingerprint(), shared);
    let server = std::fs::read_to_string(folders.user.join("servercerts/home.crt")).expect("it");
    let server = Fingerprint::of_pem(&server).expect("a certificate");
    assert_eq!(remote.trust.expected, Some(server));
    assert_eq!(remote.trust.server_fingerprints, [], "nobody gave them");

    let (own, key) = pair();
    write(&folders.user.join("clientcerts/home.crt"), &own);
    write(&folders.user.join("clientcerts/home.key"), &key);
    let identity = folders
        .remote("home", None)
        .expect("a remote")
        .trust
        .identity;
    let own = Fingerprint::of_pem(&own).expect("a certificate");
    assert_eq!(
        identity.expect("an identity").fingerprint(),
        own,
        "a remote's own certificate goes first"
    );

    let bare = folders.remote("bare", None).expect("a remote");
    assert_eq!(bare.endpoint.to_string(), "https://10.0.0.2:8443");
    assert_eq!(bare.trust.expected, None);
    let site = folders
        .remote("site", None)
        .expect("a remote of the machine");
    assert_eq!(site.endpoint.to_string(), "https://10.0.0.9:8443");

    let socket = folder.path().join("unix.socket");
    for (name, path) in [
        ("socket", Path::new("/run/incus/unix.socket")),
        ("odd", Path::new("/run/odd")),
        ("here", &socket),
        // The client knows it without having written it.
        ("local", &socket),
    ] {
        let remote = folders.remote(name, None).expect(name);
        assert_eq!(remote.endpoint, Endpoint::Unix(path.to_owned()), "{name}");
        assert!(remote.trust.identity.is_none());
    }
}

#[test]
fn a_remote_that_cannot_be_used_is_told_with_what_was_seen() {
    let (_folder, folders, _) = user();
    for (name, told) in [
        (
            "images",
            "is an image server (its protocol is simplestreams)",
        ),
        ("shop", "is an image server"),
        ("person", "is used with oidc"),
        ("broken", "has an address that cannot be used"),
        (
            "nowhere",
            "it has bare, broken, here, home, images, odd, person, shop, site, socket",
        ),
    ] {
        let error = folders.remote(name, None).expect_err(name).to_string();
        assert!(error.contains(told), "{name}: {error}");
    }
}

#[test]
fn what_is_given_is_shown_and_the_clients_own_is_not_needed() {
    let (_folder, folders, certificate) = user();
    std::fs::remove_file(folders.user.join("client.key")).expect("removed");
    let (given, key) = pair();
    let given = incus::Identity::from_pem(Some(&given), Some(&key)).expect("an identity");
    let shown = given.as_ref().map(incus::Identity::fingerprint);
    assert_ne!(shown, Fingerprint::of_pem(&certificate).ok());
    for name in ["home", "person"] {
        let remote = folders.remote(name, given.clone()).expect(name);
        let identity = remote.trust.identity.as_ref();
        assert_eq!(identity.map(incus::Identity::fingerprint), shown, "{name}");
    }
}

#[test]
fn what_is_wrong_with_the_files_is_told_and_no_key_is_repeated() {
    let (_folder, folders, _) = user();
    let said = |name: &str| {
        let error = folders.remote(name, None).expect_err(name);
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    };
    let (certificate, key) = (
        folders.user.join("client.crt"),
        folders.user.join("client.key"),
    );
    let (_, other) = pair();
    write(&key, &other);
    assert!(said("home").contains("does not fit"), "{}", said("home"));
    assert!(!said("home").contains(other.lines().nth(1).expect("a key")));
    write(&key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    assert!(said("home").contains("needs no password"));
    std::fs::remove_file(&key).expect("removed");
    assert!(said("home").contains("no client certificate for the remote \"home\""));
    assert!(said("home").contains(certificate.to_str().expect("text")));
    write(
        &folders.user.join("config.yml"),
        "remotes: [secret, words]\n",
    );
    assert!(said("home").contains("no configuration of an Incus client"));
    assert!(!said("home").contains("secret"));
    std::fs::remove_file(folders.user.join("config.yml")).expect("removed");
    std::fs::remove_file(folders.global.join("config.yml")).expect("removed");
    assert!(said("home").contains("it has none at all"));
    let (own, fitting) = pair();
    write(&folders.user.join("config.yml"), CONFIG);
    write(&certificate, &own);
    write(&key, &fitting);
    write(&folders.user.join("servercerts/home.crt"), "none");
    assert!(said("home").contains("is not the certificate of a server"));
}

#[test]
fn the_folders_are_those_of_the_client() {
    let of = |set: &[(&str, &str)]| {
        let set: Vec<(String, OsString)> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
            .collect();
        Folders::of(|name| {
            let found = set.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        })
    };
    let at = |set: &[(&str, &str)]| of(set).map(|folders| folders.user);
    assert_eq!(at(&[]), None);
    assert_eq!(at(&[("HOME", "/h")]), Some("/h/.config/incus".into()));
    let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
    assert_eq!(at(&both), Some("/x/incus".into()));
    assert_eq!(
        at(&[("HOME", "/h"), ("INCUS_CONF", "/c")]),
        Some("/c".into())
    );
    let folders = of(&[("HOME", "/h"), ("INCUS_DIR", "/i")]).expect("folders");
    assert_eq!(folders.socket, Path::new("/i/unix.socket"));
    let folders = of(&[("HOME", "/h"), ("INCUS_SOCKET", "/s")]).expect("folders");
    assert_eq!(folders.socket, Path::new("/s"));
}
