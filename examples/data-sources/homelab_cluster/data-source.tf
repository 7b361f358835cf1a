data "homelab_cluster" "this" {}

# Where a second provider block would reach the cluster.
output "endpoints" {
  value = [for member in data.homelab_cluster.this.members : "https://${member.address}"]
}

# One member, or three and more: two bear the loss of neither.
check "cluster" {
  assert {
    condition     = data.homelab_cluster.this.fault_tolerance > 0
    error_message = "The cluster does not survive the loss of a member."
  }
}
