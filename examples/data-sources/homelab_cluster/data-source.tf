data "homelab_cluster" "this" {}

# Where a second provider block would reach the cluster.
output "endpoints" {
  value = [for member in data.homelab_cluster.this.members : "https://${member.address}"]
}

# It takes three members to bear the loss of one: with one or two, this check warns.
check "cluster" {
  assert {
    condition     = data.homelab_cluster.this.fault_tolerance > 0
    error_message = "The cluster does not survive the loss of a member."
  }
}
