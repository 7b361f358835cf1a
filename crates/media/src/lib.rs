//! Seeds as bytes: archives and small volumes that IncusOS finds, encrypted or not, in files of their own.
//!
//! Before this crate, somebody has rendered the files of a seed (names and texts); after it, there is a file to write to
//! install media, or a volume to attach beside them (HO-SEED-29). A walk through it goes in one direction:
//!
//! ```text
//! output.rs          a file that is complete or not there, for its owner alone
//!   └─ cipher.rs     age: only ciphertext goes on from here, if recipients are given
//!        └─ pack.rs  checks the files, and chooses
//!             ├─ archive.rs   tar, and reading one back
//!             ├─ fat.rs       a FAT volume
//!             └─ iso.rs       an ISO 9660 volume
//! ```
//!
//! Everything is streamed into a `Write`. The same files give the same bytes, whatever the time and the machine; only
//! encryption is different each time. Not here: what the files say, install images, and devices.
//!
//! This crate imports nothing else of this workspace. What it needs, such as age, is forbidden where seeds are rendered.

mod archive;
mod cipher;
mod fat;
mod format;
mod iso;
mod output;
mod pack;

pub use archive::{UnpackError, unpack};
pub use cipher::{
    CipherError, Encrypting, Identities, IdentitiesError, Opened, Recipient, RecipientError,
    decrypt, encrypt,
};
pub use format::{Format, FormatError};
pub use output::{OutputError, Step, sync_folder, write_output};
pub use pack::{Files, LARGEST_SEED, PackError, pack};

/// The name by which IncusOS finds a volume with a seed.
pub const VOLUME_LABEL: &str = "SEED_DATA";
