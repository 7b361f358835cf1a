terraform {
  required_providers {
    homelab = { source = "homelab-ops/homelab" }
  }
}

# From a map of machines to a cluster of three, in one apply: it waits while the machines are installed from their seeds.

module "fleet" {
  source = "../../../fleet"

  network = {
    cidr         = "192.168.1.0/24"
    gateway      = "192.168.1.1"
    dns          = ["192.168.1.1"]
    static_range = "192.168.1.210-192.168.1.239"
  }

  machines = {
    a = { mac = "52:54:00:00:00:0a", role = "bootstrap", pin = "192.168.1.210" }
    b = { mac = "52:54:00:00:00:0b" }
    c = { mac = "52:54:00:00:00:0c" }
  }

  break_glass_certificate = file("${path.root}/break-glass.crt")
  joiner_certificate      = file("${path.root}/joiner.crt")
  output                  = { folder = "${path.root}/seeds" }
  encrypt_to              = [var.recipient]
}

variable "recipient" {
  description = "Your age recipient: who can read the seeds."
  type        = string
}

# Members use the cluster that they make, so they have a provider block of their own.
provider "homelab" {
  alias              = "cluster"
  endpoints          = module.fleet.endpoints
  client_certificate = file("${path.root}/break-glass.crt")
  client_key         = file("${path.root}/break-glass.key")
}

module "cluster" {
  source    = "../.."
  providers = { homelab = homelab.cluster }

  machines             = module.fleet.machines
  metrics_certificates = module.fleet.metrics_certificates
  on_destroy           = { evacuate = true }
}
