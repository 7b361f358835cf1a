variable "machines" {
  default = {
    attic  = { mac = "52:54:00:00:00:0a", role = "bootstrap" }
    garage = { mac = "52-54-00-00-00-0B", role = "join" }
  }
}

resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"
  claims       = { for name, _ in var.machines : name => null }
}

resource "homelab_instance" "node" {
  for_each     = var.machines
  name         = each.key
  mac          = each.value.mac
  role         = each.value.role
  network      = homelab_network.lan
  address      = homelab_network.lan.assignments[each.key]
  install_disk = { sort_order = "smallest" }
}
