output "members" {
  description = "The members by name."
  value       = homelab_cluster_member.this
}

output "endpoints" {
  description = "Where the cluster answers, for `endpoints` of a provider block, once there are members."
  value       = [for member in homelab_cluster_member.this : "https://${member.location}"]
}

output "missing" {
  description = "Member → what it lacks of what is declared."
  value       = { for name, member in homelab_cluster_member.this : name => member.missing if length(member.missing) > 0 }
}
