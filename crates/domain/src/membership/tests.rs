//! Decisions about members, one file for each part of a member's life.

mod capacity;
mod claims;
mod joining;
mod left;
mod leftovers;
mod listed;
mod refusing;
mod removing;
mod repairing;
