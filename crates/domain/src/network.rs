//! Address plans of networks. Being written.
