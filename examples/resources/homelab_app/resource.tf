resource "homelab_app" "web" {
  name     = "web"
  type     = "generic-stateless"
  replicas = 2
  image    = { alias = "web/v1" }

  workload = {
    environment = { LOG_LEVEL = "info" }
    config      = { "limits.memory" = "512MiB" }
  }

  # A new generation must answer for half a minute before it takes over, and has five minutes to get there.
  health = {
    check            = { exec = { command = ["wget", "-q", "-O-", "http://127.0.0.1/"], timeout = "5s" } }
    min_healthy_time = "30s"
    healthy_deadline = "5m"
  }

  timeouts = { update = "30m" }
}

# From a registry. Every plan looks whether the tag has moved, and shows it; without `track` it stays what it was.
resource "homelab_app" "proxy" {
  name     = "proxy"
  type     = "generic-stateless"
  replicas = 1
  image = {
    server   = "https://docker.io"
    protocol = "oci"
    alias    = "caddy:2"
    track    = "follow"
  }
}

# Of a database only one may run: an update stops it first, and its data stays in the volume `postgres-data`.
resource "homelab_app" "postgres" {
  name     = "postgres"
  type     = "generic-exclusive"
  replicas = 1
  image    = { server = "https://docker.io", protocol = "oci", alias = "postgres:17" }

  workload = {
    devices = {
      pg = { type = "proxy", listen = "tcp:0.0.0.0:5432", connect = "tcp:127.0.0.1:5432" }
    }
  }

  volumes = {
    data = { class = "local", path = "/var/lib/postgresql/data", size = "50GiB" }
  }

  health     = { check = { tcp = { port = 5432 } }, healthy_deadline = "5m" }
  on_destroy = { delete_volumes = false }
}

# One on each machine; a machine that joins gets its own.
resource "homelab_app" "exporter" {
  name     = "exporter"
  type     = "generic-stateless"
  replicas = "per-node"
  image    = { server = "https://docker.io", protocol = "oci", alias = "prom/node-exporter:v1.9.1" }
}
