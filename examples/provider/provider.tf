terraform {
  required_providers {
    homelab = { source = "homelab-ops/homelab" }
  }
}

# Without endpoints, Incus on this machine is used. With several, they are tried in turn.
provider "homelab" {
  endpoints    = ["unix:///var/lib/incus/unix.socket"]
  storage_pool = "local"
}
