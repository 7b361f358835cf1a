//! What exists only while it is used: secrets and connections that no plan and no state ever holds.
//!
//! The host opens an ephemeral resource in a plan and again in its apply, renews it when it asked for that, and closes
//! it when nobody needs it any more. The server (`server/ephemeral.rs`) decodes and encodes; nothing here is stored by
//! anyone. What renewing and closing need is in `private`, which the host hands back and keeps in memory only.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::debug::debug_without_private;
use crate::{Call, Diagnostics, Schema, Value};

/// A kind of ephemeral object.
#[async_trait]
pub trait EphemeralResource: Send + Sync + 'static {
    /// Its attributes: those of the request, and the computed ones of what is opened.
    fn schema(&self) -> Schema;

    /// Judges a configuration beyond its types. It may hold unknown values, and the provider may not be configured.
    fn validate(&self, _config: &Value, _diagnostics: &mut Diagnostics) {}

    /// Opens one for a configuration that is wholly known. It happens in a plan as well as in an apply.
    async fn open(&self, config: Value, call: &Call) -> Opened;

    /// Makes it last longer; asked for when the time that [`Opened::renew_at`] named has come.
    async fn renew(&self, private: Vec<u8>, _call: &Call) -> Renewed {
        Renewed {
            private,
            renew_at: None,
            diagnostics: Diagnostics::new(),
        }
    }

    /// Ends it. One that has ended already is a success.
    async fn close(&self, _private: Vec<u8>, _call: &Call) -> Diagnostics {
        Diagnostics::new()
    }
}

/// What was opened.
#[derive(Clone)]
pub struct Opened {
    /// The configuration with the computed attributes filled in. Nothing in it is unknown.
    pub result: Value,
    /// What renewing and closing need to know.
    pub private: Vec<u8>,
    /// When the host should renew it, if it does not last by itself.
    pub renew_at: Option<Timestamp>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

impl Opened {
    /// A success that needs neither renewing nor anything for its end.
    pub fn new(result: Value) -> Opened {
        Opened {
            result,
            private: Vec::new(),
            renew_at: None,
            diagnostics: Diagnostics::new(),
        }
    }

    /// A failure: nothing is open, and nothing will be closed.
    pub fn failed(diagnostics: impl Into<Diagnostics>) -> Opened {
        Opened {
            diagnostics: diagnostics.into(),
            ..Opened::new(Value::Null)
        }
    }
}

/// What a renewal came to.
#[derive(Clone)]
pub struct Renewed {
    /// What the next renewal and the end need to know.
    pub private: Vec<u8>,
    /// When the host should renew it again.
    pub renew_at: Option<Timestamp>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

debug_without_private! {
    Renewed { renew_at, diagnostics }
    // The result of opening is as secret as what is noted of it.
    Opened { renew_at, diagnostics }
}
