# An address plan and an app, the smallest whole program.
#
# It runs against the Incus server or cluster of the machine that it is applied on. The image is one of the cluster's
# own, by alias; to have one, for instance:
#
#   incus image copy images:alpine/3.22 local: --alias web/v1
#   tofu apply -var image=web/v1
#
# A second apply with another image rolls the app blue-green; with an image that does not come up, the old one goes on
# serving and the apply says why.

terraform {
  required_providers {
    homelab = { source = "homelab-ops/homelab" }
  }
}

variable "image" {
  type        = string
  description = "Alias of an image that the cluster holds."
}

# Without endpoints it is $INCUS_DIR/unix.socket, then /var/lib/incus/unix.socket.
provider "homelab" {}

# Machines and their addresses: null takes the next free one, an address pins it.
resource "homelab_network" "lan" {
  name         = "lan"
  cidr         = "192.168.10.0/24"
  gateway      = "192.168.10.1"
  dns          = ["192.168.10.1"]
  static_range = "192.168.10.20-192.168.10.99"

  claims = {
    attic    = null
    basement = null
    garage   = "192.168.10.20"
  }
}

resource "homelab_app" "web" {
  name     = "web"
  type     = "generic-stateless"
  replicas = 2
  image    = { alias = var.image }

  workload = {
    environment = { LOG_LEVEL = "info" }
  }

  health = {
    check            = { running = {} }
    min_healthy_time = "3s"
    healthy_deadline = "1m"
  }
}

output "addresses" {
  value = homelab_network.lan.assignments
}

output "workloads" {
  value = homelab_app.web.workloads
}
