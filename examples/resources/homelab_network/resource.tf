# A LAN. A machine that is null gets the next free address and keeps it; an address is a pin.
resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"

  claims = {
    attic    = null
    basement = null
    garage   = "192.168.1.210"
  }
}

# An overlay has no gateway: its first address is the hub's.
resource "homelab_network" "overlay" {
  name   = "overlay"
  kind   = "overlay"
  cidr   = "10.100.0.0/24"
  claims = { for machine, _ in homelab_network.lan.assignments : machine => null }
}

output "attic" {
  value = homelab_network.lan.assignments["attic"]
}
