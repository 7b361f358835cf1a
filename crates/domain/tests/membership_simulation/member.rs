//! What is done to members in the world of the simulation, refused where Incus refuses it.

use std::collections::BTreeMap;

use domain::membership::observation::*;

use super::{World, address, fresh, volume_of};

impl World {
    pub(super) fn note_pool(&mut self, name: &str, pool: &str, driver: &str) {
        let key = MemberKey {
            entity: "storage-pool".to_owned(),
            name: pool.to_owned(),
            key: "source".to_owned(),
        };
        let cluster = self.cluster();
        if cluster.pool(pool).is_none() {
            cluster.member_keys.push(key);
            cluster.pools.push(Pool {
                name: pool.to_owned(),
                driver: driver.to_owned(),
                ..Pool::default()
            });
        }
        let pool = cluster
            .pools
            .iter_mut()
            .find(|one| one.name == pool)
            .expect("a pool");
        pool.members.insert(name.to_owned());
    }

    pub(super) fn create_volume(&mut self, name: &str, pool: &str, volume: &str) {
        let made = self
            .cluster()
            .pool(pool)
            .is_some_and(|pool| pool.created && pool.members.contains(name));
        assert!(made, "a volume in a pool that is not there");
        let volume = volume_of(name, pool, volume);
        if !self.cluster().volumes.contains(&volume) {
            self.cluster().volumes.push(volume);
        }
    }

    pub(super) fn delete_volume(&mut self, name: &str, pool: &str, volume: &str) {
        let path = format!("{pool}/{volume}");
        let server = self
            .member(name)
            .server
            .clone()
            .expect("a member that answers");
        assert!(
            !server.config.values().any(|value| *value == path),
            "{path} is pointed at"
        );
        // What was in use as the place of the logs stays mounted until the daemon is restarted.
        if volume == "logs" && self.logs_stay {
            self.busy.insert((name.to_owned(), volume.to_owned()));
            return;
        }
        let volume = volume_of(name, pool, volume);
        self.cluster().volumes.retain(|one| *one != volume);
    }

    pub(super) fn set_server(&mut self, name: &str, config: &BTreeMap<String, String>) {
        for (key, path) in config
            .iter()
            .filter(|(key, path)| key.starts_with("storage.") && !path.is_empty())
        {
            let exists = self
                .cluster()
                .volumes_on(name)
                .any(|one| format!("{}/{}", one.pool, one.name) == *path);
            assert!(exists, "{key} points at nothing");
        }
        let server = self
            .member(name)
            .server
            .as_mut()
            .expect("a member that answers");
        server.config.extend(config.clone());
        server.config.retain(|_, value| !value.is_empty());
    }

    pub(super) fn evacuate(&mut self, name: &str) {
        let pinned = self.pinned.clone();
        let member = self.member(name);
        member.status = Status::Evacuated;
        let moving: Vec<String> = member
            .instances
            .iter()
            .filter(|one| !pinned.contains(*one))
            .cloned()
            .collect();
        member.instances.retain(|one| pinned.contains(one));
        let other = self
            .cluster()
            .members
            .iter_mut()
            .find(|member| member.name != name);
        other.expect("another member").instances.extend(moving);
    }

    pub(super) fn remove(&mut self, name: &str, force: bool) {
        let up = self.machines[name].up;
        let cluster = self.cluster();
        if cluster.member(name).is_none() {
            return;
        }
        let empty = cluster.volumes_on(name).next().is_none()
            && cluster
                .member(name)
                .is_some_and(|member| member.instances.is_empty() && member.workloads.is_empty());
        assert!(force || (empty && up), "Incus refuses to remove {name}");
        cluster.members.retain(|member| member.name != name);
        cluster.volumes.retain(|volume| volume.member != name);
        cluster
            .trusted
            .retain(|one| (one.kind, one.name.as_str()) != (TrustKind::Server, name));
        for pool in &mut cluster.pools {
            pool.members.remove(name);
        }
        if !force {
            let mut machine = fresh(name);
            machine.server.cluster_address = Some(address(name).to_string());
            self.machines.insert(name.to_owned(), machine);
        }
    }
}
