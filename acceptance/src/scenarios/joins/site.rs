//! Machines that wait to become members, and their operator, who sits beside them and types `tofu`.
//!
//! Every scenario of this folder starts here, and asks here whether a cluster is complete and tidy.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::lab::{Incus, Lab, Member};
use crate::observer::Observer;
use crate::pair::Pair;
use crate::scenario::Context;
use crate::workspace::Workspace;

/// The project of the fleet store, unless the provider is told otherwise.
pub(super) const FLEET: &str = "homelab";

/// A lab of machines on plain Linux, and the operator's folder.
pub(crate) struct Site {
    pub(crate) lab: Lab,
    pub(crate) workspace: Workspace,
    pub(crate) operator: Pair,
}

/// A member as a user declares it.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    name: String,
    at: String,
    role: &'static str,
    more: String,
}

impl Declared {
    /// One that joins.
    pub(crate) fn join(name: &str) -> Declared {
        Declared {
            name: name.to_owned(),
            at: name.to_owned(),
            role: "join",
            more: String::new(),
        }
    }

    /// The one that a cluster begins with.
    pub(crate) fn first(name: &str) -> Declared {
        Declared {
            role: "bootstrap",
            ..Declared::join(name)
        }
    }

    /// With the address of this machine.
    pub(crate) fn at(self, machine: &str) -> Declared {
        Declared {
            at: machine.to_owned(),
            ..self
        }
    }

    /// With this attribute too.
    pub(crate) fn with(mut self, attribute: &str) -> Declared {
        let _ = writeln!(self.more, "  {attribute}");
        self
    }
}

impl Site {
    /// Machines that trust the operator, and nothing else.
    pub(crate) fn fresh(context: &Context, name: &str, releases: &[Incus]) -> Result<Site> {
        let site = Site {
            lab: Lab::up_mixed(name, releases)?,
            workspace: context.workspace(&format!("joins-{name}"))?,
            operator: Pair::new(2200)?,
        };
        let members = site.lab.members();
        members
            .iter()
            .try_for_each(|member| member.open_to(&site.operator))?;
        site.enter()
    }

    /// The first of them a cluster already, made by hand; the others are fresh.
    pub(crate) fn clustered(
        context: &Context,
        name: &str,
        releases: &[Incus],
        members: usize,
    ) -> Result<Site> {
        let site = Site::fresh(context, name, releases)?;
        site.lab.cluster(members)?;
        Ok(site)
    }

    /// A cluster with pool, network and images, made by hand, that trusts the operator.
    pub(crate) fn furnished(context: &Context, name: &str, members: usize) -> Result<Site> {
        let site = Site {
            lab: Lab::up(name, members)?,
            workspace: context.workspace(&format!("joins-{name}"))?,
            operator: Pair::new(2200)?,
        };
        site.operator.add_to(&site.observer())?;
        site.enter()
    }

    /// The same of all machines but the last, which is fresh.
    pub(crate) fn beside(
        context: &Context,
        name: &str,
        members: usize,
        incus: Incus,
    ) -> Result<Site> {
        let site = Site {
            lab: Lab::up_beside_a_machine(name, members, incus)?,
            workspace: context.workspace(&format!("joins-{name}"))?,
            operator: Pair::new(2200)?,
        };
        site.operator.add_to(&site.observer())?;
        let last = site.lab.members().last();
        last.map_or(Ok(()), |last| last.open_to(&site.operator))?;
        site.enter()
    }

    fn enter(mut self) -> Result<Site> {
        let operator = self.lab.operator()?.to_owned();
        furnish(&mut self.workspace, &operator, &self.operator)?;
        Ok(self)
    }

    /// The operator's second folder, with a state of its own.
    pub(crate) fn another(&self, context: &Context, name: &str) -> Result<Workspace> {
        let mut workspace = context.workspace(&format!("joins-{name}"))?;
        furnish(&mut workspace, self.lab.operator()?, &self.operator)?;
        Ok(workspace)
    }

    /// The first machine's view.
    pub(crate) fn observer(&self) -> Observer {
        self.lab.observer()
    }

    /// Declares these members, reached through these machines.
    pub(crate) fn declare(&self, through: &[&str], members: &[Declared]) -> Result<()> {
        self.declare_beside(through, members, "")
    }

    /// The same beside other resources.
    pub(crate) fn declare_beside(
        &self,
        through: &[&str],
        members: &[Declared],
        beside: &str,
    ) -> Result<()> {
        let text = self.text(through, members)?;
        self.workspace.main(&format!("{text}{beside}"))
    }

    /// What declares these members, reached through these machines.
    pub(crate) fn text(&self, through: &[&str], members: &[Declared]) -> Result<String> {
        let endpoint = |name: &&str| Ok(self.lab.member(name)?.https());
        let endpoints = through.iter().map(endpoint).collect::<Result<Vec<_>>>()?;
        let mut text =
            format!("provider \"homelab\" {{\n  endpoints = {endpoints:?}\n{CLIENT}}}\n");
        for Declared {
            name,
            at,
            role,
            more,
        } in members
        {
            let address = self.lab.member(at)?.address();
            let _ = write!(
                text,
                "resource \"homelab_cluster_member\" \"{name}\" {{\n  name    = \"{name}\"\n  address = \"{address}\"\n  \
                 role    = \"{role}\"\n{more}}}\n"
            );
        }
        Ok(text)
    }

    /// All of these are Online, in the cluster that this one sees, and nothing is left of how they became so.
    pub(crate) fn expect_members(&self, through: &Member, names: &[&str]) -> Result<()> {
        let observer = through.observer();
        let listed = observer.list("/1.0/cluster/members?recursion=1")?;
        let mut seen: Vec<String> = listed
            .iter()
            .map(|member| {
                format!("{} {}", member["server_name"], member["status"]).replace('"', "")
            })
            .collect();
        seen.sort();
        let expected: Vec<String> = names.iter().map(|name| format!("{name} Online")).collect();
        ensure!(seen == expected, "members are {seen:?}, not {expected:?}");
        expect_tidy(&observer, names)
    }

    /// A member is installed anew, and the cluster knows nothing of it any more.
    pub(crate) fn start_over(&self, member: &Member) -> Result<()> {
        member.power_off()?;
        let path = format!("/1.0/cluster/members/{}?force=1", member.name());
        self.observer().finish("DELETE", &path, None)?;
        member.reinstall()?;
        member.open_to(&self.operator)
    }

    /// The fleet store knows nothing of a member any more.
    pub(crate) fn forget_entries(&self, name: &str) -> Result<()> {
        let observer = self.observer();
        let (prefix, names) = (format!("member.{name}.r"), observer.profile_names(FLEET)?);
        for entry in names.iter().filter(|entry| entry.starts_with(&prefix)) {
            let path = format!("/1.0/profiles/{entry}?project={FLEET}");
            observer.request("DELETE", &path, None)?;
        }
        Ok(())
    }

    pub(crate) fn down(self) -> Result<()> {
        self.lab.down()
    }
}

/// A folder on the operator's machine, with what he shows.
fn furnish(workspace: &mut Workspace, machine: &str, operator: &Pair) -> Result<()> {
    workspace.inside(machine);
    workspace.write("client.crt", &operator.certificate)?;
    workspace.write("client.key", &operator.key)
}

/// How the operator shows who he is.
pub(crate) const CLIENT: &str =
    "  client_certificate = file(\"client.crt\")\n  client_key         = file(\"client.key\")\n";

/// No certificate but those of the members and of clients, no token, no member that is half there (HO-JOIN-12).
pub(crate) fn expect_tidy(observer: &Observer, names: &[&str]) -> Result<()> {
    let certificates = observer.list("/1.0/certificates?recursion=1")?;
    let servers = certificates.iter().filter(|one| one["type"] == "server");
    let mut trusted: Vec<&str> = servers.filter_map(|one| one["name"].as_str()).collect();
    trusted.sort_unstable();
    ensure!(trusted == names, "servers that are trusted: {trusted:?}");
    let clients = certificates.iter().filter(|one| one["type"] == "client");
    ensure!(clients.count() == 1, "clients: {certificates:#?}");
    let tokens = tokens(observer)?;
    ensure!(tokens.is_empty(), "tokens are left: {tokens:#?}");
    let half = query(observer, "SELECT name FROM nodes WHERE state != 0")?;
    ensure!(half.is_empty(), "members that are half there: {half:#?}");
    Ok(())
}

/// The operations that stand for join tokens that somebody could still use; spent ones are listed for some seconds.
pub(crate) fn tokens(observer: &Observer) -> Result<Vec<Value>> {
    let operations = observer.get("/1.0/operations?recursion=1&all-projects=true")?;
    let by_status = operations.as_object().into_iter().flatten();
    let all = by_status.flat_map(|(_, operations)| operations.as_array().into_iter().flatten());
    let running = all.filter(|one| one["class"] == "token" && one["status_code"] == 103);
    Ok(running.cloned().collect())
}

/// What every member with a pool named `local` has in it, and the key of its server that says so (HO-CLUS-06). The older
/// release keeps its logs elsewhere.
pub(crate) fn expect_daemon_volumes(observer: &Observer, member: &Member) -> Result<()> {
    let server = observer.get(&format!("/1.0?target={}", member.name()))?;
    let volumes: &[&str] = match member.incus() {
        Incus::V6 => &["backups", "images"],
        Incus::V7 => &["backups", "images", "logs"],
    };
    for volume in volumes {
        let path = format!("/1.0/storage-pools/local/volumes/custom/{volume}");
        observer.get(&format!("{path}?target={}", member.name()))?;
        let pointed = &server["config"][format!("storage.{volume}_volume")];
        ensure!(
            pointed == &format!("local/{volume}"),
            "{} of {} is {pointed}",
            volume,
            member.name()
        );
    }
    Ok(())
}

/// The fingerprints of the certificates that are trusted for reading metrics.
pub(crate) fn metrics(observer: &Observer) -> Result<Vec<String>> {
    let certificates = observer.list("/1.0/certificates?recursion=1")?;
    let metrics = certificates.iter().filter(|one| one["type"] == "metrics");
    let fingerprints = metrics.filter_map(|one| one["fingerprint"].as_str());
    Ok(fingerprints.map(str::to_owned).collect())
}

/// The address of a member's resource.
pub(crate) fn resource(name: &str) -> String {
    format!("homelab_cluster_member.{name}")
}

/// The rows of a question to the database of the cluster, which only a member's own socket answers.
fn query(observer: &Observer, question: &str) -> Result<Vec<Value>> {
    let body = json!({ "database": "global", "query": question });
    let answer = observer.request("POST", "/internal/sql", Some(&body))?;
    let rows = answer.pointer("/metadata/Results/0/rows");
    let rows = rows.with_context(|| format!("no rows for {question}: {answer}"))?;
    Ok(rows.as_array().cloned().unwrap_or_default())
}
