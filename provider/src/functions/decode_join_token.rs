//! `decode_join_token`: what a join token says, for looking into why a join fails.
//!
//! Before: `tfplugin` decoded the argument. After: `domain::token` reads it and drops its secret. Where the result ends
//! up is the user's choice (an output, a state), so neither it nor an error may hold any of the secret.

use domain::token::JoinToken;
use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

/// The function `decode_join_token`.
pub(crate) struct DecodeJoinToken;

impl Function for DecodeJoinToken {
    fn signature(&self) -> Signature {
        let returns = Type::object([
            ("server_name", Type::String),
            ("fingerprint", Type::String),
            ("addresses", Type::list(Type::String)),
            ("expires_at", Type::String),
        ]);
        Signature::new("Tells what a join token says, without its secret.", returns)
            .describe(
                "Tells what a join token of an Incus cluster says: `server_name`, the member it was made for; `fingerprint`, \
                 the SHA-256 of the cluster's certificate; `addresses`, where the cluster answers; `expires_at`, when it \
                 ends to be valid. It is for looking into a join that fails; joining needs no token from you.\n\n\
                 The secret of the token is never in the result, in an error or in a log. The token itself is a password: \
                 hand it over in a variable that is `sensitive` or `ephemeral`, or OpenTofu shows it when an expression \
                 fails, and keeps it in the plan file. The result of a sensitive token is sensitive too; `nonsensitive()` \
                 around the result shows it, and shows no secret.\n\n\
                 ```terraform\n\
                 variable \"token\" {\n  \
                   type      = string\n  \
                   sensitive = true\n\
                 }\n\n\
                 output \"cluster\" {\n  \
                   value = nonsensitive(provider::homelab::decode_join_token(var.token)).addresses\n\
                 }\n\
                 ```",
            )
            .parameter(Parameter::new(
                "token",
                Type::String,
                "The token, as `incus cluster add` prints it.",
            ))
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let text = arguments
            .first()
            .and_then(Value::as_str)
            .unwrap_or_default();
        let token = JoinToken::decode(text).map_err(|error| {
            let message = format!(
                "{error}. Expected the last line that `incus cluster add NAME` prints, whole: base64 of a JSON object with \
                 server_name, fingerprint, addresses, secret and expires_at. Copy it again, or make a new one"
            );
            FunctionError::at(0, message)
        })?;
        let addresses: Vec<Value> = token.addresses.iter().map(Value::from).collect();
        Ok(Value::object([
            ("server_name", token.server_name.into()),
            ("fingerprint", token.fingerprint.into()),
            ("addresses", addresses.into()),
            ("expires_at", token.expires_at.into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"server_name":"m2","fingerprint":"abab…","addresses":["10.0.0.10:8443"],"secret":"s3cret","expires_at":"…"}`
    const TOKEN: &str = "eyJzZXJ2ZXJfbmFtZSI6Im0yIiwiZmluZ2VycHJpbnQiOiJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh\
                         YmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiIiwiYWRkcmVzc2VzIjpbIjEwLjAuMC4xMDo4NDQzIl0sInNlY3Jl\
                         dCI6InMzY3JldCIsImV4cGlyZXNfYXQiOiIyMDI2LTA4LTAxVDEyOjAwOjAwWiJ9";

    /// HO-JOIN-10: the result has the type that was promised, and no secret.
    #[test]
    fn the_result_has_no_secret() {
        let result = DecodeJoinToken.call(vec![TOKEN.into()]).expect("a token");
        let expected = Value::object([
            ("server_name", "m2".into()),
            ("fingerprint", "ab".repeat(32).into()),
            ("addresses", vec![Value::from("10.0.0.10:8443")].into()),
            ("expires_at", "2026-08-01T12:00:00Z".into()),
        ]);
        assert_eq!(result, expected);
        assert_eq!(
            result.clone().conform(&DecodeJoinToken.signature().returns),
            Ok(result)
        );
    }

    #[test]
    fn a_refusal_says_what_was_expected_and_echoes_nothing() {
        let text = TOKEN.replace("eyJ", "fyJ");
        let error = DecodeJoinToken
            .call(vec![text.clone().into()])
            .expect_err("no JSON");
        assert_eq!(error.argument, Some(0));
        for part in ["not JSON", "incus cluster add NAME", "Copy it again"] {
            assert!(error.message.contains(part), "{part}: {error}");
        }
        assert!(!error.message.contains(&text[..10]), "{error}");
    }
}
