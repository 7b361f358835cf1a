//! What is refused of a member, where, and what a sound declaration means.
