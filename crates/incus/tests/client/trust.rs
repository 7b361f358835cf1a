//! The right cluster: what was kept from an earlier time decides, whoever answers first.

use std::error::Error as _;

use incus::{Error, Fingerprint, Trust, profile};

use crate::certificates::Certificate;
use crate::https::profiles;
use crate::server::{C1, C2, Server, client, trusting};

fn fingerprint(text: &str) -> Fingerprint {
    Fingerprint::parse(text).expect("a fingerprint")
}

#[tokio::test]
async fn an_expected_cluster_is_found_behind_one_that_answers_first() {
    let reinstalled = Server::start(C2, profiles);
    let ours = Server::start(C1, profiles);
    let client = client(&[&reinstalled.endpoint, &ours.endpoint]);
    // Nothing was kept yet, so whoever answers is taken.
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(client.cluster(), Some(fingerprint(C2)));

    client
        .expect_cluster(fingerprint(C1))
        .expect("the first to be named");
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(reinstalled.requests().len(), 1);
    assert_eq!(ours.requests().len(), 1);
    assert_eq!(client.cluster(), Some(fingerprint(C1)));
}

#[tokio::test]
async fn an_open_connection_is_not_used_after_another_cluster_was_expected() {
    let (wrong, right) = (Certificate::new("m1"), Certificate::new("m2"));
    let server = Server::start_tls(wrong.server(), profiles).await;
    let client = client(&[&server.endpoint]);
    client.send(profile::names("p")).await.expect("names");
    let asked = server.everything().len();
    client
        .expect_cluster(right.fingerprint())
        .expect("the first to be named");
    let refused = client
        .send(profile::names("p"))
        .await
        .expect_err("another cluster");
    assert!(
        refused.to_string().contains("of another cluster"),
        "{refused}"
    );
    assert_eq!(
        server.everything().len(),
        asked,
        "nothing more is said to it"
    );
}

#[tokio::test]
async fn two_expected_clusters_contradict_each_other() {
    let client = client(&[]);
    client.expect_cluster(fingerprint(C1)).expect("the first");
    client.expect_cluster(fingerprint(C1)).expect("the same");
    let error = client.expect_cluster(fingerprint(C2)).expect_err("another");
    assert!(matches!(error, Error::TwoClusters(_)), "{error}");
    let told = error.source().expect("a cause").to_string();
    assert!(told.contains(C1) && told.contains(C2), "{told}");
}

#[tokio::test]
async fn given_fingerprints_are_newer_than_what_was_kept() {
    let renewed = Server::start(C2, profiles);
    let trust = Trust {
        server_fingerprints: vec![fingerprint(C2)],
        ..Trust::default()
    };
    let client = trusting(&[&renewed.endpoint], trust);
    // States that were kept at different times do not contradict each other then.
    for kept in [C1, C2, C1] {
        let expected = client.expect_cluster(fingerprint(kept));
        expected.expect("the given ones decide");
    }
    client.send(profile::names("p")).await.expect("names");
    assert_eq!(client.cluster(), Some(fingerprint(C2)));
}

#[tokio::test]
async fn a_cluster_that_was_learnt_elsewhere_overrides_nothing_that_was_kept() {
    let server = Server::start(C2, profiles);
    let learnt = |text| Trust {
        expected: Some(fingerprint(text)),
        ..Trust::default()
    };
    let client = trusting(&[&server.endpoint], learnt(C1));
    let refused = client.send(profile::names("p")).await.expect_err("another");
    assert!(
        refused.to_string().contains("of another cluster"),
        "{refused}"
    );
    let client = trusting(&[&server.endpoint], learnt(C2));
    let kept = client.expect_cluster(fingerprint(C1));
    let error = kept.expect_err("the state was made on another cluster");
    assert!(matches!(error, Error::TwoClusters(_)), "{error}");
}

/// Which of several clusters is meant is a matter of chance until somebody says it.
#[tokio::test]
async fn several_endpoints_are_ambiguous_until_a_cluster_is_named() {
    let (one, other) = (Server::start(C1, profiles), Server::start(C2, profiles));
    let both = [&one.endpoint, &other.endpoint];
    assert!(!client(&both[..1]).is_ambiguous());
    let several = client(&both);
    several.send(profile::names("p")).await.expect("names");
    assert!(several.is_ambiguous(), "an answer says nothing");
    several.expect_cluster(fingerprint(C1)).expect("named");
    assert!(!several.is_ambiguous());
    let given = Trust {
        server_fingerprints: vec![fingerprint(C1)],
        ..Trust::default()
    };
    assert!(!trusting(&both, given).is_ambiguous());
}
