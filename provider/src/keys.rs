//! WireGuard keys, made from this machine's randomness: for the ephemeral resource `homelab_keypair` and for seeds.
//!
//! Whoever asks hands them on. Not here: client certificates, which `incus::certificate` makes. [`Pair`] has no `Debug`, so
//! that no log and no panic can show its private half, and errors repeat nothing of a key.

use aws_lc_rs::agreement::{PrivateKey, X25519};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A pair of X25519 keys, each half as WireGuard writes it: 32 bytes in base64.
pub(crate) struct Pair {
    /// A secret.
    pub(crate) private_key: String,
    pub(crate) public_key: String,
}

/// Which step failed. Causes are left out: one of them could show what it was given.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("The machine gave no random numbers")]
    Random,
    #[error("The key could not be made")]
    Key,
    #[error("The private key is not 32 bytes in base64")]
    Unreadable,
}

/// A pair as `wg genkey | tee key | wg pubkey` makes it. Each call makes another one.
pub(crate) fn wireguard() -> Result<Pair, KeyError> {
    let mut private_key = [0; 32];
    getrandom::fill(&mut private_key).map_err(|_| KeyError::Random)?;
    clamp(&mut private_key);
    Ok(Pair {
        public_key: public_key(&private_key)?,
        private_key: STANDARD.encode(private_key),
    })
}

/// The public half of a private key, both in base64, as `wg pubkey` finds it.
pub(crate) fn wireguard_public_key(private_key: &str) -> Result<String, KeyError> {
    let bytes = STANDARD
        .decode(private_key)
        .map_err(|_| KeyError::Unreadable)?;
    public_key(&bytes.try_into().map_err(|_| KeyError::Unreadable)?)
}

/// Makes any 32 bytes a private key of X25519 (RFC 7748, section 5), as `wg genkey` does. The library's own keys are
/// deliberately left without it, and not every implementation of WireGuard makes up for that.
fn clamp(key: &mut [u8; 32]) {
    key[0] &= 0b1111_1000;
    key[31] = key[31] & 0b0111_1111 | 0b0100_0000;
}

fn public_key(private_key: &[u8; 32]) -> Result<String, KeyError> {
    let key = PrivateKey::from_private_key(&X25519, private_key).map_err(|_| KeyError::Key)?;
    let public_key = key.compute_public_key().map_err(|_| KeyError::Key)?;
    Ok(STANDARD.encode(public_key.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The vector of RFC 7748, section 6.1 (Bob): what we call a public key is what WireGuard calls one.
    #[test]
    fn public_keys_are_those_of_wireguard() {
        let private_key = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";
        let public_key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=";
        assert_eq!(wireguard_public_key(private_key).as_deref(), Ok(public_key));
    }

    #[test]
    fn a_pair_is_as_wg_makes_it() {
        let pair = wireguard().expect("a pair");
        let private_key = STANDARD.decode(&pair.private_key).expect("base64");
        assert_eq!(private_key.len(), 32);
        let is_clamped = private_key[0] & 7 == 0 && private_key[31] & 0xc0 == 0x40;
        assert!(is_clamped, "as wg genkey writes it");
        let public_key = wireguard_public_key(&pair.private_key);
        assert_eq!(public_key, Ok(pair.public_key));
    }

    #[test]
    fn what_is_no_private_key_is_refused_and_not_repeated() {
        let short = STANDARD.encode([7; 31]);
        for text in ["", "secret", &short] {
            let error = wireguard_public_key(text).expect_err(text);
            assert_eq!(error, KeyError::Unreadable);
            assert!(text.is_empty() || !error.to_string().contains(text));
        }
    }

    #[test]
    fn no_two_pairs_are_alike() {
        let keys: BTreeSet<String> = (0..4)
            .filter_map(|_| wireguard().ok())
            .flat_map(|pair| [pair.private_key, pair.public_key])
            .collect();
        assert_eq!(keys.len(), 8);
    }
}
