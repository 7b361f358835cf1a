//! Whether a workload still writes its heartbeat (HO-APP-46), asked with a request for the headers of the file.
//!
//! Before: `health.rs`. After: `domain::heartbeat` judges. It works from everywhere, since Incus itself looks into the
//! workload, and needs no program in it.

use domain::heartbeat::judge;
use domain::moment::Moment;
use domain::observation::Probe;
use incus::file::{self, Age};

use super::running;
use crate::clock;
use crate::cluster::Cluster;

pub(super) async fn file(cluster: &Cluster, name: &str, path: &str) -> Option<Probe> {
    // A file stays fresh for a while after its writer has ended.
    if let Err(why) = running(cluster, name).await? {
        return Some(Probe::Unhealthy(why));
    }
    let asked = cluster
        .client
        .send(file::age(&cluster.project, name, path))
        .await;
    let age = match asked {
        Ok(age) => age,
        Err(error) if error.is_not_found() => {
            let why = format!("there is no file {path} in {name}");
            return Some(Probe::Unhealthy(why));
        }
        Err(_) => return None,
    };
    Some(match fault(&age) {
        None => Probe::Healthy,
        Some(why) => Probe::Unhealthy(format!("the file {path} of {name} {why}")),
    })
}

/// Why the file is no sign of life. Two clocks of one machine are compared, where that is possible: the executor's may
/// be wrong, and its machine is not what is asked about.
fn fault(age: &Age) -> Option<String> {
    if matches!(age.kind.as_str(), "directory" | "symlink") {
        return Some(format!("is a {}, not a file", age.kind));
    }
    let Some(written_at) = age.written_at else {
        return Some("does not say when it was written".to_owned());
    };
    let moment = |at: jiff::Timestamp| Moment(at.as_millisecond());
    let now = age.read_at.map_or_else(clock::now, moment);
    let lapse = judge(moment(written_at), now).err()?;
    Some(lapse.to_string())
}
