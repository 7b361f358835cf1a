//! Looking images up at servers of this process: what is sent to a registry, and what becomes of every kind of answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use incus::image_server::{Error, Name, Wanted, oci, public, simplestreams};

/// A server that answers every request as a function says, and remembers what was asked.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets `METHOD path`, with ` as TOKEN` behind it where a token was shown, and the server's own address.
    fn start(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (own, remembered) = (url.clone(), Arc::clone(&asked));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let question = question(&stream);
                remembered.lock().expect("no panic").push(question.clone());
                let _ = stream.write_all(answer(&question, &own).as_bytes());
                // Until the client has read it all.
                let _ = stream.read(&mut [0]);
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn question(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let mut question = first.trim_end_matches(" HTTP/1.1").to_owned();
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(token) = line.strip_prefix("authorization: Bearer ") {
            question = format!("{question} as {token}");
        }
    }
    question
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn digest(pair: &str) -> String {
    format!("sha256:{}", pair.repeat(32))
}

fn named(digest: &str) -> String {
    format!("docker-content-digest: {digest}\r\n")
}

#[tokio::test]
async fn a_registry_is_asked_for_the_digest_alone() {
    let server = Server::start(|_, _| reply("200 OK", &named(&digest("ab")), ""));
    let found = oci::look_up(&server.url, "org/web", "1.2").await;
    assert_eq!(found.expect("a digest"), digest("ab"));
    assert_eq!(server.asked(), ["HEAD /v2/org/web/manifests/1.2"]);
}

#[tokio::test]
async fn a_token_is_fetched_where_one_is_wanted() {
    let server = Server::start(|question, url| {
        let wants = format!("www-authenticate: Bearer realm=\"{url}/token\",service=\"s\"\r\n");
        match question {
            "HEAD /v2/web/manifests/1" => reply("401 Unauthorized", &wants, ""),
            "HEAD /v2/web/manifests/1 as abc" => reply("200 OK", &named(&digest("ab")), ""),
            _ => reply("200 OK", "", r#"{"token":"abc"}"#),
        }
    });
    let found = oci::look_up(&server.url, "web", "1").await;
    assert_eq!(found.expect("a digest"), digest("ab"));
    let expected = [
        "HEAD /v2/web/manifests/1",
        "GET /token?scope=repository%3Aweb%3Apull&service=s",
        "HEAD /v2/web/manifests/1 as abc",
    ];
    assert_eq!(server.asked(), expected);
}

#[tokio::test]
async fn a_token_goes_to_no_other_server() {
    let elsewhere = Server::start(|_, _| reply("200 OK", &named(&digest("cd")), ""));
    let other = elsewhere.url.clone();
    let server = Server::start(move |question, url| match question {
        "HEAD /v2/web/manifests/1" => {
            let wants = format!("www-authenticate: Bearer realm=\"{url}/token\"\r\n");
            reply("401 Unauthorized", &wants, "")
        }
        "HEAD /v2/web/manifests/1 as abc" => {
            let there = format!("location: {other}/elsewhere\r\n");
            reply("307 Temporary Redirect", &there, "")
        }
        _ => reply("200 OK", "", r#"{"access_token":"abc"}"#),
    });
    let found = oci::look_up(&server.url, "web", "1").await;
    assert_eq!(found.expect("a digest"), digest("cd"));
    assert_eq!(elsewhere.asked(), ["HEAD /elsewhere"]);
}

/// Some registries tell the digest with the manifest alone, or not at all: then it is that of what they send.
#[tokio::test]
async fn a_registry_that_tells_no_digest_sends_its_manifest() {
    let of_abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (head, headers, expected) in [
        ("200 OK", String::new(), of_abc.to_owned()),
        ("200 OK", named("sha256:nonsense"), of_abc.to_owned()),
        ("405 Method Not Allowed", named(&digest("ef")), digest("ef")),
    ] {
        let server = Server::start(move |question, _| match question.starts_with("HEAD") {
            true => reply(head, "", ""),
            false => reply("200 OK", &headers, "abc"),
        });
        let found = oci::look_up(&server.url, "web", "1").await;
        assert_eq!(found.expect("a digest"), expected, "{head}");
    }
}

#[tokio::test]
async fn what_a_registry_does_not_give_is_told_apart() {
    let failing = |answer: String| async move {
        let server = Server::start(move |_, _| answer.clone());
        let found = oci::look_up(&server.url, "web", "1").await;
        found.expect_err("no digest")
    };
    let none = failing(reply("404 Not Found", "", "")).await;
    assert!(matches!(none, Error::NotFound { .. }), "{none}");
    let private = failing(reply("401 Unauthorized", "", "")).await;
    assert!(matches!(private, Error::Login { .. }), "{private}");
    let broken = failing(reply("500 Internal Server Error", "", "")).await;
    assert!(
        matches!(broken, Error::Refused { status: 500, .. }),
        "{broken}"
    );
    let endless = failing(reply("302 Found", "location: /again\r\n", "")).await;
    assert!(matches!(endless, Error::Redirected { .. }), "{endless}");
    let nonsense = failing("nonsense\r\n\r\n".to_owned()).await;
    assert!(matches!(nonsense, Error::Unreachable { .. }), "{nonsense}");
    let nobody = oci::look_up("http://127.0.0.1:1", "web", "1").await;
    let nobody = nobody.expect_err("nobody listens there");
    assert!(matches!(nobody, Error::Unreachable { .. }), "{nobody}");
    assert!(!nobody.is_not_found(), "nobody has said so");
}

#[tokio::test]
async fn a_manifest_without_end_is_not_read_to_its_end() {
    let server = Server::start(|question, _| match question.starts_with("HEAD") {
        true => reply("200 OK", "", ""),
        false => reply("200 OK", "", &"x".repeat(5 << 20)),
    });
    let found = oci::look_up(&server.url, "web", "1").await;
    let error = found.expect_err("too long");
    assert!(matches!(error, Error::Unusable { .. }), "{error}");
}

fn wanted(alias: &str) -> Wanted<'_> {
    Wanted {
        name: Name::Alias(alias),
        is_vm: false,
        architecture: "x86_64",
    }
}

#[tokio::test]
async fn lists_are_read_where_their_index_says() {
    let server = Server::start(|question, _| match question {
        "GET /images/streams/v1/index.json" => reply(
            "200 OK",
            "",
            r#"{"index":{"a":{"datatype":"image-downloads","path":"streams/v1/list.json","more":1},
                "b":{"datatype":"other","path":"streams/v1/b.json"}}}"#,
        ),
        "GET /images/streams/v1/list.json" => reply(
            "200 OK",
            "",
            r#"{"products":{"p":{"aliases":"app","arch":"amd64","versions":{"20261130":{"items":
                {"i":{"ftype":"incus_combined.tar.gz","sha256":"ab"}}}}}}}"#,
        ),
        _ => reply("404 Not Found", "", ""),
    });
    let url = format!("{}/images", server.url);
    let found = simplestreams::look_up(&url, &wanted("app")).await;
    let found = found.expect("an image");
    assert_eq!(
        (&*found.fingerprint, &*found.architecture),
        ("ab", "x86_64")
    );
    let none = simplestreams::look_up(&url, &wanted("other")).await;
    assert!(none.expect_err("no such name").is_not_found());
    let nothing = simplestreams::look_up(&server.url, &wanted("app")).await;
    let nothing = nothing.expect_err("no index");
    assert!(
        matches!(nothing, Error::Refused { status: 404, .. }),
        "{nothing}"
    );
}

#[tokio::test]
async fn an_incus_server_is_asked_as_everybody_may() {
    let server = Server::start(|question, _| match question {
        "GET /1.0/images/aliases/app%2Fv1?project=default" => reply(
            "200 OK",
            "",
            r#"{"type":"sync","metadata":{"name":"app/v1","target":"ab"}}"#,
        ),
        "GET /1.0/images/ab?project=default" => reply(
            "200 OK",
            "",
            r#"{"type":"sync","metadata":{"fingerprint":"abcd","type":"container","architecture":"x86_64"}}"#,
        ),
        _ => reply(
            "404 Not Found",
            "",
            r#"{"type":"error","error":"Not Found","error_code":404}"#,
        ),
    });
    let found = public::look_up(&server.url, &wanted("app/v1")).await;
    assert_eq!(found.expect("an image").fingerprint, "abcd");
    let of_arm = Wanted {
        architecture: "aarch64",
        ..wanted("app/v1")
    };
    for other in [of_arm, wanted("app/v2")] {
        let error = public::look_up(&server.url, &other).await;
        let error = error.expect_err("no such image");
        assert!(error.is_not_found(), "{error}");
    }
}
