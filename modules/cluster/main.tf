# One block for all members: joiners wait for the machine with the role bootstrap, and join one after the other.
resource "homelab_cluster_member" "this" {
  for_each = var.machines

  name                = each.key
  address             = each.value.address
  role                = each.value.role
  server_fingerprint  = try(var.members[each.key].server_fingerprint, null)
  groups              = try(var.members[each.key].groups, null)
  config              = try(var.members[each.key].config, null)
  failure_domain      = try(var.members[each.key].failure_domain, null)
  state               = try(var.members[each.key].state, null)
  storage             = var.storage
  metrics_certificate = lookup(var.metrics_certificates, each.key, null)
  on_destroy          = var.on_destroy
  timeouts            = var.timeouts
}
