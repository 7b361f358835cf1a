variable "machines" {
  default = {
    attic    = { mac = "52:54:00:00:00:0a", role = "bootstrap" }
    basement = { mac = "52:54:00:00:00:0b", role = "join" }
    garage   = { mac = "52:54:00:00:00:0c", role = "join" }
  }
}

variable "operator" {
  description = "The operator's certificate and key in PEM form, which the machines were told to trust."
  type        = object({ certificate = string, key = string })
  sensitive   = true
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
  for_each = var.machines
  name     = each.key
  mac      = each.value.mac
  role     = each.value.role
  network  = homelab_network.lan
  address  = homelab_network.lan.assignments[each.key]
}

# Members use the cluster that they make, so they have a provider block of their own.
provider "homelab" {
  alias              = "cluster"
  endpoints          = [for machine in homelab_instance.node : "https://${machine.address}:8443"]
  client_certificate = var.operator.certificate
  client_key         = var.operator.key
}

# One block for all: the machine with the role `bootstrap` becomes the cluster, and the others join it.
resource "homelab_cluster_member" "node" {
  provider = homelab.cluster
  for_each = homelab_instance.node

  name           = each.key
  address        = each.value.address
  role           = each.value.role
  failure_domain = "rack-${each.key}"

  # A member that hosts instances leaves only after they were moved, and only if this was applied before.
  on_destroy = { evacuate = true }

  # Long enough to write the media, start the machines and have them installed.
  timeouts = { create = "2h" }
}
