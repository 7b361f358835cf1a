//! The ephemeral resources, one file each, in the order of resources: schema, validate, open, tests. What they open is in
//! no plan and no state.

mod join_token;
mod keypair;

pub(crate) use join_token::JoinToken;
pub(crate) use keypair::Keypair;
