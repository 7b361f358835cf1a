//! Joins in the world of the simulation: whole ones, and those that end half-way.
//!
//! What one leaves behind that fails is measured on real clusters: the address, the certificate under the tried name,
//! pools and networks, the spent token.

use domain::membership::observation::*;
use domain::membership::step::Join;

use super::{CLUSTER, STAGES, World};

impl World {
    /// A join from end to end; the token is made here, and spent here.
    pub(super) fn join(&mut self, join: &Join) {
        self.mint(&join.name);
        self.send(join, STAGES)
            .map_err(|why| self.note_failure(join, why))
            .ok();
    }

    /// A join that is refused at this point, or whose executor is killed there.
    pub(super) fn join_in_vain(&mut self, join: &Join, stage: usize) {
        if stage == 0 {
            return;
        }
        self.mint(&join.name);
        match stage {
            1 => {
                self.memory.remove(&join.name);
            }
            _ => {
                let why = self.send(join, stage).err().unwrap_or("refused");
                self.note_failure(join, why);
            }
        }
    }

    fn note_failure(&mut self, join: &Join, why: &str) {
        let name = &join.name;
        self.trace.push(format!("{name}: {why}"));
        let history = self.memory.entry(name.clone()).or_default();
        history.failed_joins += 1;
        history.tried = Some(join.server_fingerprint.clone());
        history.last_failure = why.to_owned();
    }

    fn mint(&mut self, name: &str) {
        self.tokens_made += 1;
        let token = PendingToken {
            operation: format!("token-{}", self.tokens_made),
            member: name.to_owned(),
        };
        let tokens = &mut self.cluster().tokens;
        assert!(
            tokens.iter().all(|one| one.member != name),
            "two tokens for {name}"
        );
        tokens.push(token);
    }

    /// What Incus does with `PUT /1.0/cluster`, up to a stage, in its order.
    fn send(&mut self, join: &Join, until: usize) -> Result<(), &'static str> {
        let name = join.name.as_str();
        let own = self.machines[name].server.fingerprint.clone();
        self.machine(name).server.cluster_address = Some(join.address.to_string());
        self.cluster().tokens.retain(|token| token.member != name);
        if until <= 2 {
            return Err("no trust");
        }
        let trusted = &mut self.cluster().trusted;
        if trusted
            .iter()
            .any(|one| one.fingerprint == own && one.name != name)
        {
            return Err("other name");
        }
        if !trusted.iter().any(|one| one.fingerprint == own) {
            trusted.push(Trusted {
                name: name.to_owned(),
                kind: TrustKind::Server,
                fingerprint: own,
            });
        }
        if until <= 3 {
            return Err("cut off");
        }
        let (pools, networks) = (
            self.cluster().pools.clone(),
            self.cluster().networks.clone(),
        );
        let server = &mut self.machine(name).server;
        if !join.member_config.is_empty()
            && pools.iter().any(|pool| server.pools.contains(&pool.name))
        {
            return Err("source is member specific");
        }
        server.pools.extend(pools.into_iter().map(|pool| pool.name));
        server.networks.extend(networks);
        if until <= 4 {
            return Err("not accepted");
        }
        self.half_joined.insert(name.to_owned());
        if until <= 5 {
            return Err("the raft is busy");
        }
        self.half_joined.remove(name);
        let server = &mut self.machine(name).server;
        (server.clustered, server.fingerprint) = (true, CLUSTER.to_owned());
        let member = self.new_member(name);
        for pool in &mut self.cluster().pools {
            pool.members.insert(name.to_owned());
        }
        self.cluster().members.push(member);
        Ok(())
    }
}
