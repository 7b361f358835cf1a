//! `normalize_mac`: one spelling for the address of a network card.
//!
//! Before: `tfplugin` decoded the argument. After: `domain::mac` reads it.

use domain::mac::{self, Mac};
use tfplugin::{Function, FunctionError, Parameter, Signature, Type, Value};

/// The function `normalize_mac`.
pub(crate) struct NormalizeMac;

impl Function for NormalizeMac {
    fn signature(&self) -> Signature {
        Signature::new(
            "Spells a MAC address in lower case with colons.",
            Type::String,
        )
        .describe(
            "Spells the MAC address of a network card as `52:54:00:00:00:0a`, however it was written: with colons, \
             hyphens, dots (`5254.0000.000a`) or nothing between the digits, in lower or upper case. So lists of machines \
             from different sources can be compared and used as keys.\n\n\
             Refused is what no network card has: all zeros, the broadcast address, and multicast addresses.\n\n\
             ```terraform\n\
             provider::homelab::normalize_mac(\"52-54-00-00-00-0A\") # \"52:54:00:00:00:0a\"\n\
             ```",
        )
        .parameter(Parameter::new(
            "mac",
            Type::String,
            "The MAC address, in any usual spelling.",
        ))
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let text = arguments
            .first()
            .and_then(Value::as_str)
            .unwrap_or_default();
        match Mac::parse(text) {
            Ok(mac) => Ok(mac.to_string().into()),
            Err(error) => Err(FunctionError::at(0, mac::refusal(text, &error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let call = |text: &str| NormalizeMac.call(vec![text.into()]);
        assert_eq!(call("5254.00AB.CD0E"), Ok(Value::from("52:54:00:ab:cd:0e")));
        let error = call("52:54:00:ab:cd").expect_err("a byte is missing");
        assert_eq!(error.argument, Some(0));
        assert!(error.message.contains("10 hexadecimal digits"), "{error}");
    }
}
