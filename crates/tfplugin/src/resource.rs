//! What a kind of managed object has to tell and to do.
//!
//! The walk: the server (`server.rs`) decodes a request, `apply.rs` or `plan.rs` surround the methods here with what
//! the host demands of every provider, and the answer is encoded again. `schema`, `validate`, `plan` and `upgrade` are
//! plain functions and touch nothing; only the `async` ones reach the world.

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::debug::debug_without_private;
use crate::{Call, Diagnostic, Diagnostics, IdentitySchema, Plan, Schema, Value, identity};

/// A kind of managed object.
#[async_trait]
pub trait Resource: Send + Sync + 'static {
    /// Its attributes.
    fn schema(&self) -> Schema;

    /// Judges a configuration beyond its types. It may hold unknown values, and the provider may not be configured.
    /// What the schema's own validators say has been said already.
    fn validate(&self, _config: &Value, _diagnostics: &mut Diagnostics) {}

    /// Changes a plan after the schema's rules made it; see [`Plan`]. Called for a destruction too. It is called twice
    /// for one change and must answer alike, so it looks at nothing but its argument.
    fn plan(&self, _plan: &mut Plan<'_>) {}

    /// Makes a new object.
    async fn create(&self, request: CreateRequest, call: &Call) -> Applied;

    /// Observes an object. One that is gone is [`Value::Null`]; one that cannot be reached is an error.
    async fn read(&self, request: ReadRequest, call: &Call) -> ReadState;

    /// Changes an object.
    async fn update(&self, request: UpdateRequest, call: &Call) -> Applied;

    /// Removes an object. One that is gone already is a success.
    async fn delete(&self, request: DeleteRequest, call: &Call) -> Applied;

    /// Takes an existing object over by its name or its identity. The host reads it afterwards, so the names suffice.
    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        let error = Diagnostic::error(format!("The object {:?} cannot be imported", request.id))
            .detail("This kind of resource does not support import.");
        Imported {
            state: Value::Null,
            private: Vec::new(),
            diagnostics: error.into(),
        }
    }

    /// Brings a state of an older schema into the shape of the present one. States of the present version never come
    /// here: they are read as they are, without attributes that the schema lacks and with null for those it added.
    fn upgrade(&self, version: i64, _raw: Json) -> Result<Json, Diagnostic> {
        Err(Diagnostic::error(format!("A state of schema version {version} cannot be read"))
            .detail("This version of the provider has no upgrade for it. Apply once with the version between."))
    }

    /// What names its objects for good, if anything does. Every answer about an object then carries its identity.
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }

    /// The identity of the object with this state: by itself the attributes of the same names. It may not be known yet.
    fn identity_of(&self, state: &Value) -> Value {
        identity::by_name(self.identity(), state)
    }

    /// Brings an identity of an older identity schema into the shape of the present one, as [`Resource::upgrade`] does.
    fn upgrade_identity(&self, version: i64, _raw: Json) -> Result<Json, Diagnostic> {
        Err(Diagnostic::error(format!("An identity of version {version} cannot be read"))
            .detail("This version of the provider has no upgrade for it. Apply once with the version between."))
    }

    /// Takes over the state of an object of another kind, or of another provider, after a `moved` block: a rename, most
    /// often. `None` says that nothing is known of such objects.
    fn move_state(&self, _request: MoveRequest) -> Option<Result<Moved, Diagnostic>> {
        None
    }
}

/// What [`Resource::create`] gets.
#[derive(Clone)]
pub struct CreateRequest {
    /// What the user wrote, wholly known, write-only values included.
    pub config: Value,
    /// What was planned. What is known in it has to be in the result.
    pub planned: Value,
    /// What the plan noted.
    pub private: Vec<u8>,
}

/// What [`Resource::update`] gets.
#[derive(Clone)]
pub struct UpdateRequest {
    /// What the user wrote, wholly known, write-only values included.
    pub config: Value,
    /// The state before.
    pub prior: Value,
    /// What was planned. What is known in it has to be in the result.
    pub planned: Value,
    /// What the plan noted.
    pub private: Vec<u8>,
}

/// What [`Resource::delete`] gets.
#[derive(Clone)]
pub struct DeleteRequest {
    /// The state before.
    pub prior: Value,
    /// What the plan noted.
    pub private: Vec<u8>,
}

/// What [`Resource::read`] gets.
#[derive(Clone)]
pub struct ReadRequest {
    /// The state as it is stored; after an import it may hold little more than a name.
    pub current: Value,
    /// What the last call noted. It is lost at times, so it can only save work.
    pub private: Vec<u8>,
}

/// What [`Resource::import`] gets.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// What the user gave to name the object; empty when it was named by its identity.
    pub id: String,
    /// The identity that the user gave instead, in the shape of [`Resource::identity`].
    pub identity: Option<Value>,
}

/// What [`Resource::move_state`] gets: an object as another kind stored it.
#[derive(Clone)]
pub struct MoveRequest {
    /// The address of the provider it belongs to, such as `registry.opentofu.org/example/toy`.
    pub source_provider: String,
    /// The kind that it is of.
    pub source_type: String,
    /// The version of that kind's schema.
    pub source_version: i64,
    /// The state in that kind's shape.
    pub state: Json,
    /// The identity in that kind's shape, if it had one.
    pub identity: Option<Json>,
    /// What that kind noted of it.
    pub private: Vec<u8>,
}

/// What was taken over from another kind.
#[derive(Clone)]
pub struct Moved {
    /// The state in this kind's shape. The host reads the object next.
    pub state: Value,
    /// What the next call may want to know.
    pub private: Vec<u8>,
}

/// What creating, updating or deleting came to.
///
/// The state is what is true now, with errors too: half a creation has a state, or its object is lost. After a
/// successful deletion the state is ignored; after a failed one the prior state stays, whatever is said here. A failure
/// without private state leaves the planned one in place.
#[derive(Clone)]
pub struct Applied {
    /// What is true now.
    pub state: Value,
    /// What the next call may want to know.
    pub private: Vec<u8>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

impl Applied {
    /// A success that has nothing to tell.
    pub fn new(state: Value) -> Applied {
        Applied {
            state,
            private: Vec::new(),
            diagnostics: Diagnostics::new(),
        }
    }

    /// A failure that left this state.
    pub fn failed(state: Value, diagnostic: Diagnostic) -> Applied {
        Applied {
            state,
            private: Vec::new(),
            diagnostics: diagnostic.into(),
        }
    }

    /// Adds what the next call may want to know.
    pub fn private(mut self, private: Vec<u8>) -> Applied {
        self.private = private;
        self
    }
}

/// What was observed.
#[derive(Clone)]
pub struct ReadState {
    /// The object as it is; null when it is gone. With an error the host keeps the state it has.
    pub state: Value,
    /// What the next call may want to know.
    pub private: Vec<u8>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

/// What was taken over.
#[derive(Clone)]
pub struct Imported {
    /// At least what [`Resource::read`] needs to find the object.
    pub state: Value,
    /// What the next call may want to know.
    pub private: Vec<u8>,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

debug_without_private! {
    // The configuration holds write-only values, which are nowhere else, and so must not get into a log either.
    CreateRequest { planned }
    UpdateRequest { prior, planned }
    DeleteRequest { prior }
    ReadRequest { current }
    Applied { state, diagnostics }
    ReadState { state, diagnostics }
    Imported { state, diagnostics }
    // A stored state is shown by no type of this crate, so not at all.
    MoveRequest { source_provider, source_type, source_version }
    Moved { state }
}
