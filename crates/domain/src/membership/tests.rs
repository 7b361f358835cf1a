//! Decisions about members, one file for each part of a member's life.

mod capacity;
mod joining;
mod left;
mod leftovers;
mod listed;
mod refusing;
mod removing;
mod repairing;
