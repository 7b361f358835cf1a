//! The data sources, one file each, all in the same order: model, schema, read, tests.

mod cluster;

pub(crate) use cluster::ClusterSource;
