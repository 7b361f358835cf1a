//! What a name stands for on an Incus server that gives its images to everybody.
//!
//! The requests and answers are those of `image.rs`; only the way there is another one.

use http::StatusCode;

use super::fetch::{Question, ask};
use super::{Error, Found, Name, Wanted};
use crate::envelope::Unusable;
use crate::image::{self, kernel_name};
use crate::request::Request;

/// An image with all its properties has some kilobytes.
const LARGEST_ANSWER: usize = 4 << 20;

/// Public images are in this project.
const PROJECT: &str = "default";

/// The image that a name stands for now.
///
/// # Errors
/// [`Error::NotFound`] if the server has no such image, or one for the other kind of instances or another architecture.
pub async fn look_up(server: &str, wanted: &Wanted<'_>) -> Result<Found, Error> {
    let fingerprint = match wanted.name {
        Name::Alias(alias) => {
            send(server, wanted, image::alias(PROJECT, alias))
                .await?
                .target
        }
        Name::Fingerprint(fingerprint) => fingerprint.to_owned(),
    };
    let image = send(server, wanted, image::get(PROJECT, &fingerprint)).await?;
    let is_vm = image.r#type == "virtual-machine";
    let architecture = kernel_name(&image.architecture);
    if is_vm != wanted.is_vm || architecture != wanted.architecture {
        return Err(not_found(wanted));
    }
    Ok(Found {
        architecture: architecture.to_owned(),
        fingerprint: image.fingerprint,
    })
}

async fn send<T>(server: &str, wanted: &Wanted<'_>, request: Request<T>) -> Result<T, Error> {
    let url = format!("{server}{}", request.path_and_query());
    let reply = ask(&Question::get(&url, LARGEST_ANSWER)).await?;
    (request.read)(&reply).map_err(|unusable| match unusable {
        // Strangers are not told whether there is one that is not public.
        Unusable::Refused { code, .. } if code == StatusCode::NOT_FOUND.as_u16() => {
            not_found(wanted)
        }
        Unusable::Refused { code, .. } => Error::Refused { url, status: code },
        Unusable::Malformed(error) => Error::unusable(&url, error),
    })
}

fn not_found(wanted: &Wanted<'_>) -> Error {
    Error::NotFound {
        wanted: wanted.told(),
    }
}
