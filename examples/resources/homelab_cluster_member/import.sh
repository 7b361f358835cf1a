# A member is imported by its name.
tofu import 'homelab_cluster_member.node["attic"]' attic
