//! `homelab_cluster_member`: a machine's membership in the cluster, from its first answer to its removal.
//!
//! ```text
//! cluster_member.rs ──┬─> cluster_member/model.rs    what is declared           ─> domain::membership::declared
//!                     ├─> cluster_member/schema.rs   every attribute, once
//!                     ├─> cluster_member/plan.rs     pure
//!                     ├─> cluster_member/outlook.rs  warnings about a plan as a whole
//!                     ├─> cluster_member/change.rs   pass after pass              ─> reconcile::member
//!                     ├─> cluster_member/wait.rs     and waiting between them
//!                     └─> cluster_member/state.rs    what OpenTofu keeps
//! ```
//!
//! Not here: any decision about members (`domain::membership`), any request (`incus`).

mod change;
mod model;
mod outlook;
mod plan;
mod private;
mod schema;
mod state;
mod wait;

use std::sync::Arc;

use async_trait::async_trait;
use domain::issue;
use domain::membership::claim;
use domain::membership::observation::Status;
use domain::name as names;
use reconcile::cluster::Cluster;
use reconcile::member::{Changes, Survey, View};
use reconcile::rollout::arrival::Arrivals;
use tfplugin::{
    Applied, Call, CreateRequest, DeleteRequest, Diagnostic, Diagnostics, ImportRequest, Imported,
    Plan, ReadRequest, ReadState, Resource, Schema, UpdateRequest, Value,
};

use crate::diagnose;
use crate::session::{NoCluster, Session};
use change::Work;
use model::name;

pub(crate) use change::Trouble;
pub(crate) use outlook::Outlook;

// Model.

/// The resource `homelab_cluster_member`.
pub(crate) struct ClusterMember {
    session: Arc<Session>,
    outlook: Arc<Outlook>,
    changes: Arc<Changes>,
    arrivals: Arrivals,
}

impl ClusterMember {
    /// Members of the cluster that this session is configured for; `changes` are all that run in this process.
    pub(crate) fn new(session: Arc<Session>, outlook: Arc<Outlook>, changes: Arc<Changes>) -> Self {
        Self {
            session,
            outlook,
            changes,
            arrivals: Arrivals::default(),
        }
    }

    fn work<'a>(&'a self, cluster: &'a Cluster, call: &'a Call) -> Work<'a> {
        Work {
            cluster,
            changes: &self.changes,
            arrivals: &self.arrivals,
            call,
        }
    }
}

#[async_trait]
impl Resource for ClusterMember {
    // Schema.

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        diagnostics.extend(diagnose::issues(&model::declared(config).check()));
    }

    // Plan.

    fn plan(&self, plan: &mut Plan<'_>) {
        plan::plan(plan);
        let warnings = self.outlook.warnings(plan);
        plan.diagnostics.extend(warnings);
    }

    // Create.

    async fn create(&self, request: CreateRequest, call: &Call) -> Applied {
        match self.session.cluster() {
            Ok(cluster) => {
                self.session.about_to_write().await;
                let mut applied = change::create(&self.work(&cluster, call), request).await;
                // There was no plan before it that could have seen the server.
                applied.diagnostics.extend(self.session.notices(&cluster));
                applied
            }
            Err(none) => Applied::failed(Value::Null, none.diagnostic()),
        }
    }

    // Read.

    async fn read(&self, request: ReadRequest, _call: &Call) -> ReadState {
        let mut read = ReadState {
            state: request.current,
            private: request.private,
            diagnostics: Diagnostics::new(),
        };
        let cluster = match self.session.same_cluster(private::cluster(&read.private)) {
            Ok(cluster) => cluster,
            Err(NoCluster::NotKnownYet) => {
                self.tell_unrefreshed(&mut read.diagnostics);
                return read;
            }
            Err(none) => {
                read.diagnostics.push(none.diagnostic());
                return read;
            }
        };
        let name = name(&read.state).to_owned();
        match self.session.members(&cluster).await {
            Ok(seen) => self.observe(&name, &seen, cluster.client.is_ambiguous(), &mut read),
            Err(error) => read
                .diagnostics
                .push(diagnose::unread_member("Reading", &name, &error)),
        }
        read.diagnostics.extend(self.session.notices(&cluster));
        read
    }

    // Update.

    async fn update(&self, request: UpdateRequest, call: &Call) -> Applied {
        if !plan::is_change(&request.planned) {
            return Applied::new(request.planned).private(request.private);
        }
        match self
            .session
            .same_cluster(private::cluster(&request.private))
        {
            Ok(cluster) => {
                self.session.about_to_write().await;
                change::update(&self.work(&cluster, call), request).await
            }
            Err(none) => Applied::failed(request.prior, none.diagnostic()).private(request.private),
        }
    }

    // Delete.

    async fn delete(&self, request: DeleteRequest, call: &Call) -> Applied {
        match self
            .session
            .same_cluster(private::cluster(&request.private))
        {
            Ok(cluster) => {
                self.session.about_to_write().await;
                change::delete(&self.work(&cluster, call), request).await
            }
            Err(none) => Applied::failed(request.prior, none.diagnostic()).private(request.private),
        }
    }

    // Import.

    /// The name, where the member is, and whose, if the fleet store says so; what else is declared is left to others until a configuration says otherwise.
    async fn import(&self, request: ImportRequest, _call: &Call) -> Imported {
        let imported = |state, diagnostics| Imported {
            state,
            private: Vec::new(),
            diagnostics,
        };
        let issue = names::issue(issue::attribute("name"), "member", &request.id);
        if issue.is_some() {
            return imported(Value::Null, diagnose::issues(issue.as_slice()));
        }
        match self.find(&request.id).await {
            Ok(state) => imported(state, Diagnostics::new()),
            Err(diagnostic) => imported(Value::Null, diagnostic.into()),
        }
    }
}

impl ClusterMember {
    /// Refreshes the state from what was seen of the cluster; a server that is in none shows nothing of a member.
    ///
    /// Whose it is stays as it was: an entry that somebody else has written takes nothing over.
    fn observe(&self, name: &str, seen: &Option<Survey>, ambiguous: bool, read: &mut ReadState) {
        let Some(Survey { view, entries }) = seen else {
            read.diagnostics.push(diagnose::no_cluster(name));
            return;
        };
        self.outlook.saw(view.members.keys());
        self.tell_of_two(view, &mut read.diagnostics);
        let Some(member) = view.seen.member(name) else {
            match ambiguous {
                true => read.diagnostics.push(diagnose::member_nowhere(name)),
                false => read.state = Value::Null,
            }
            return;
        };
        if member.server.is_none() {
            self.tell_of_silence(name, member.status, &mut read.diagnostics);
        }
        state::refresh(&mut read.state, member, view);
        let (entry, owner) = (entries.get(name), model::owner(&read.state));
        if claim::is_foreign(entry, owner.as_deref()) {
            read.diagnostics.push(diagnose::foreign_member(name));
        }
        // One that is gone cannot be set right; what can be applied to it is that it may be removed.
        let is_gone = member.status == Status::Offline;
        let unsettled = !is_gone && claim::is_unsettled(entry, owner.as_deref());
        read.private = private::of(view, unsettled);
    }

    async fn find(&self, name: &str) -> Result<Value, Diagnostic> {
        let cluster = self.session.cluster().map_err(NoCluster::diagnostic)?;
        let seen = self.session.members(&cluster).await;
        let seen = seen.map_err(|error| diagnose::unread_member("Importing", name, &error))?;
        let Some(Survey { view, entries }) = seen.as_ref() else {
            return Err(diagnose::no_cluster(name));
        };
        let member = view.seen.member(name);
        let Some(address) = member.and_then(|member| member.address.as_ref()) else {
            let names: Vec<&str> = view.members.keys().map(String::as_str).collect();
            return Err(Diagnostic::error(format!("Member {name} cannot be imported")).detail(
                format!(
                    "The cluster does not list it. Expected the name of a member, which is one of {}.",
                    names.join(", ")
                ),
            ));
        };
        let entry = entries.get(name).filter(|entry| entry.deleted.is_none());
        Ok(Value::object([
            ("name", name.into()),
            ("address", address.to_string().into()),
            ("owner", entry.map(|entry| entry.owner.as_str()).into()),
        ]))
    }

    fn tell_unrefreshed(&self, diagnostics: &mut Diagnostics) {
        if self.session.first_time("unrefreshed members") {
            diagnostics.push(
                Diagnostic::warning("Members are shown as they were last seen").detail(
                    "The provider's endpoints are not known before the apply, so nothing could be read from the cluster.",
                ),
            );
        }
    }

    /// HO-CLUS-03. The data source says the same, and once is enough.
    fn tell_of_two(&self, view: &View, diagnostics: &mut Diagnostics) {
        let names: Vec<&String> = view.members.keys().collect();
        if let [one, other] = names.as_slice()
            && self.session.first_time("two members")
        {
            diagnostics.push(diagnose::two_members(one, other));
        }
    }

    /// A single dead member is a warning: it keeps its last known values, and everything else is planned.
    fn tell_of_silence(&self, name: &str, status: Status, diagnostics: &mut Diagnostics) {
        let is_offline = status == Status::Offline;
        let key = match is_offline {
            true => format!("offline {name}"),
            false => format!("silent {name}"),
        };
        if self.session.first_time(&key) {
            diagnostics.push(diagnose::silent_member(name, is_offline));
        }
    }
}
