resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"
  claims       = { attic = null, garage = null }
}

# Whole resources, or objects with the same attributes, such as those of machines that are declared elsewhere.
locals {
  issues = provider::homelab::validate_fleet({
    networks = [homelab_network.lan]
    machines = {
      attic  = { mac = "52:54:00:00:00:0a", role = "bootstrap", address = homelab_network.lan.assignments["attic"] }
      garage = { mac = "52:54:00:00:00:0b", role = "join", address = homelab_network.lan.assignments["garage"] }
    }
  })
}

# A check warns; the same condition as a precondition stops the plan.
check "fleet" {
  assert {
    condition     = length(local.issues) == 0
    error_message = join("\n", local.issues)
  }
}
