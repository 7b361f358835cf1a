//! Decisions about members, one file for each part of a member's life.

mod capacity;
mod joining;
mod removing;
mod repairing;
