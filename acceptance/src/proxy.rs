//! Stands before Incus, passes everything on byte by byte, and interferes at one chosen request.
//!
//! This is what "kill -9 at every step" means: the process that connected is killed before its n-th request reaches
//! Incus, or after Incus answered and before the answer is passed on. The product has no hooks for it. It also records
//! every request, for counting and for watching from outside. What a request means is not known here.
//!
//! ```text
//! client → door.rs (a unix socket, or https at a member's own address) → connection.rs → Incus, in the same way
//!          └ stream.rs: both kinds of connection; tls.rs: the encrypted kind; owner.rs: whose it is
//! ```

mod connection;
mod door;
mod owner;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;

use crate::http::Head;
use crate::lab::{Lab, Member};
use crate::pair::Pair;
use door::Door;

/// A request that came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The member that it was for; empty at a unix socket.
    pub member: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
}

impl Seen {
    /// Whether the request can change anything.
    pub fn is_mutating(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let colon = if self.member.is_empty() { "" } else { ": " };
        let (member, method) = (&self.member, &self.method);
        write!(formatter, "{member}{colon}{method} {}", self.target)
    }
}

/// On which side of a request the proxy interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Incus never hears of the request.
    Before,
    /// Incus has answered, and the client never hears of it.
    After,
}

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Kills the process that sent the request, with everything below it.
    KillClient,
    /// Kills the process that started that one too, with everything below: OpenTofu and all of its providers.
    KillHost,
    /// Closes the connection.
    Drop,
    /// Waits, then goes on as if nothing were.
    Delay(Duration),
}

/// Which requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Only those that can change something.
    Mutating,
    /// Every one.
    All,
}

/// An interference: at the n-th counted request from when it was armed, the first being 1.
#[derive(Clone, Copy, Debug)]
pub struct Trap {
    /// Which requests count.
    pub counted: Counted,
    /// The number of the request.
    pub nth: usize,
    /// On which side of it.
    pub moment: Moment,
    /// What happens.
    pub deed: Deed,
}

#[derive(Debug, Default)]
struct Record {
    seen: Vec<Seen>,
    trap: Option<(Trap, usize)>,
    fired: Option<Seen>,
}

/// What all doors of a proxy share.
#[derive(Debug, Default)]
struct Shared {
    record: Mutex<Record>,
    ended: AtomicBool,
}

/// A running proxy; dropping it closes its doors.
#[derive(Debug)]
pub struct Proxy {
    doors: Vec<Door>,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens on `socket` for what is meant for the Incus socket `incus`.
    pub fn start(socket: &Path, incus: &Path) -> Result<Proxy> {
        let shared = Arc::<Shared>::default();
        let door = Door::unix(&shared, socket, incus)?;
        Ok(Proxy {
            doors: vec![door],
            shared,
        })
    }

    /// Listens where the operator of the lab takes these members to be, with their own certificates, and counts the
    /// requests to all of them together. Members that it listens for are told about it by [`Lab::divert`], once per lab. It
    /// asks them as `operator`, whoever the client is: whom a member trusts is not what it is for.
    pub fn before(lab: &Lab, members: &[&Member], operator: &Pair) -> Result<Proxy> {
        let shared = Arc::<Shared>::default();
        let door = |member: &&Member| Door::https(&shared, lab, member, operator);
        Ok(Proxy {
            doors: members.iter().map(door).collect::<Result<_>>()?,
            shared,
        })
    }

    /// The endpoint that the product is to be given; the first of several.
    pub fn endpoint(&self) -> String {
        self.doors.first().map(Door::endpoint).unwrap_or_default()
    }

    /// Forgets what came by and interferes from now on.
    pub fn arm(&self, trap: Trap) {
        *self.shared.record() = Record {
            trap: Some((trap, 0)),
            ..Record::default()
        };
    }

    /// Forgets what came by and only records from now on.
    pub fn clear(&self) {
        *self.shared.record() = Record::default();
    }

    /// The request at which it interfered, if that happened.
    pub fn fired(&self) -> Option<Seen> {
        self.shared.record().fired.clone()
    }

    /// Every request since the last [`Proxy::arm`] or [`Proxy::clear`].
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.record().seen.clone()
    }

    /// Those requests that can change something.
    pub fn mutations(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(Seen::is_mutating).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // A listening thread looks at the flag when somebody knocks.
        self.doors.iter().for_each(Door::knock);
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and says what is to happen to it.
    fn note(&self, member: &str, head: &Head) -> Option<Trap> {
        let seen = Seen {
            member: member.to_owned(),
            method: head.method().to_owned(),
            target: head.target().to_owned(),
        };
        let mut record = self.record();
        record.seen.push(seen.clone());
        let (trap, count) = record.trap.as_mut()?;
        if trap.counted == Counted::Mutating && !seen.is_mutating() {
            return None;
        }
        *count += 1;
        let trap = *trap;
        if *count != trap.nth {
            return None;
        }
        record.fired = Some(seen);
        Some(trap)
    }
}
