variable "machines" {
  default = {
    attic  = { mac = "52:54:00:00:00:0a", role = "bootstrap" }
    garage = { mac = "52:54:00:00:00:0b", role = "join" }
  }
}

variable "certificates" {
  description = "Made by `homelabctl cert new`, in PEM form."
  type        = object({ break_glass = string, joiner = string })
}

resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.1.0/24"
  gateway      = "192.168.1.1"
  dns          = ["192.168.1.1"]
  static_range = "192.168.1.210-192.168.1.239"
  claims       = { for name, _ in var.machines : name => null }
}

resource "homelab_network" "overlay" {
  name   = "wg"
  kind   = "overlay"
  cidr   = "10.100.0.0/24"
  claims = { for name, _ in var.machines : name => null }
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

resource "homelab_seed" "node" {
  for_each                = homelab_instance.node
  machine                 = each.value
  break_glass_certificate = var.certificates.break_glass
  joiner_certificate      = each.value.role == "join" ? var.certificates.joiner : null

  wireguard = {
    network = homelab_network.overlay
    address = homelab_network.overlay.assignments[each.key]
    hub = {
      endpoint   = "hub.example.net:51820"
      public_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4="
    }
  }

  # Only ciphertext reaches the disk; the identity of this recipient reads it.
  encrypt_to = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
  output     = { path = "${path.root}/seeds/${each.key}.tar.age", format = "tar" }
}

# For the hub's WireGuard configuration.
output "hub_peers" {
  value = [for seed in homelab_seed.node : seed.hub_peer]
}
