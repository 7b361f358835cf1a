//! HO-SEED-28: keys are in the files that need them, and nowhere else.

use std::marker::PhantomData;

use domain::seed::{Declared, DeclaredTailscale, Keys};
use proptest::prelude::*;

use crate::fixtures::*;
use crate::golden;

proptest! {
    // Each case is every shape of a seed, and three ways to paste.
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// HO-SEED-28: whatever is pasted where, no issue repeats a key.
    #[test]
    fn no_issue_repeats_a_key(
        path in prop::sample::select(&TEXTS[..]),
        secret in prop::sample::select(&[PRIVATE_KEY, AUTH_KEY, "-----BEGIN PRIVATE KEY-----\nsecretsecret\n-----END PRIVATE KEY-----\n"][..]),
        around in "[ a-z{}\":,]{0,8}",
    ) {
        for seed in golden::cases().into_values() {
            for value in [secret.to_owned(), format!("{around}{secret}"), format!("{{\"{around}\": {secret:?}}}")] {
                for issue in set(seed.clone(), path, &value).check() {
                    let told = format!("{issue:?}");
                    for part in [&PRIVATE_KEY[..20], &AUTH_KEY[..16], "secretsecret"] {
                        prop_assert!(!told.contains(part), "{path}: {told}");
                    }
                }
            }
        }
    }
}

/// How far the compiler knows of a `Debug`: the inherent constant wins where the bound holds.
struct Probe<T>(PhantomData<T>);

trait Fallback {
    const PRINTS: bool = false;
}

impl<T> Fallback for Probe<T> {}

impl<T: std::fmt::Debug> Probe<T> {
    const PRINTS: bool = true;
}

/// HO-SEED-28: no log line can print a key by accident.
#[test]
fn what_holds_a_key_cannot_be_printed() {
    let probes = [
        Probe::<String>::PRINTS,
        Probe::<Keys>::PRINTS,
        Probe::<Declared>::PRINTS,
        Probe::<DeclaredTailscale>::PRINTS,
    ];
    assert_eq!(probes, [true, false, false, false]);
}
