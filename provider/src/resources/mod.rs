//! The resources, one file each, all in the same order: model, schema, plan, create, read, update, delete, import,
//! tests. Whoever has read one knows where everything is in the next.

mod app;
mod network;

pub(crate) use app::App;
pub(crate) use network::Network;
