# Apps on a cluster: a stateless one, a database of which only one may run, and a collector on each machine.
#
# The addresses are those of workloads on the LAN: where a profile gives them cards of a bridge that only their member
# knows, ask for health with `exec`.

terraform {
  required_providers {
    homelab = { source = "homelab-ops/homelab" }
  }
}

provider "homelab" {
  alias              = "cluster"
  endpoints          = ["https://10.0.0.11:8443", "https://10.0.0.12:8443", "https://10.0.0.13:8443"]
  client_certificate = var.client_certificate
  client_key         = var.client_key
}

variable "client_certificate" {
  type = string
}

variable "client_key" {
  type      = string
  ephemeral = true
}

variable "database_url" {
  type      = string
  ephemeral = true
}

variable "grafana_token" {
  type      = string
  ephemeral = true
}

# Each machine's certificate for its metrics: the outputs of its seed, where there is one.
variable "metrics" {
  type      = map(object({ metrics_key = string, metrics_certificate = string }))
  ephemeral = true
}

resource "homelab_app" "web" {
  provider = homelab.cluster
  name     = "web"
  type     = "generic-stateless"
  replicas = 2
  image    = { server = "https://registry.example.net", protocol = "oci", alias = "acme/web:1.4.2" }

  workload = {
    environment = { LOG_LEVEL = "info" }
    config      = { "limits.memory" = "512MiB" }
  }

  secrets_wo         = { DATABASE_URL = var.database_url }
  secrets_wo_version = 3

  health = {
    check            = { http = { port = 8080, path = "/healthz" } }
    min_healthy_time = "30s"
    healthy_deadline = "10m"
  }

  placement = { group = "default" }
}

resource "homelab_app" "postgres" {
  provider = homelab.cluster
  name     = "postgres"
  type     = "generic-exclusive"
  replicas = 1
  image    = { server = "https://registry.example.net", protocol = "oci", alias = "postgres:17" }

  workload = {
    devices = {
      pg = { type = "proxy", listen = "tcp:0.0.0.0:5432", connect = "tcp:127.0.0.1:5432" }
    }
  }

  volumes = {
    data = { class = "local", path = "/var/lib/postgresql/data", size = "50GiB" }
  }

  health     = { check = { tcp = { port = 5432 } }, min_healthy_time = "30s", healthy_deadline = "5m" }
  on_destroy = { delete_volumes = false }
}

resource "homelab_app" "alloy" {
  provider = homelab.cluster
  name     = "alloy"
  type     = "alloy"
  replicas = "per-node"
  image    = { server = "https://registry.example.net", protocol = "oci", alias = "grafana/alloy:v1.10.0" }

  alloy = {
    destinations = {
      local = { loki_url = "http://10.0.0.5:3100/loki/api/v1/push", prometheus_url = "http://10.0.0.5:9090/api/v1/write" }
      cloud = { loki_url = "https://logs.example.net/push", prometheus_url = "https://prom.example.net/write", username = "1234", password_secret = "cloud" }
    }
  }

  secrets_wo              = { cloud = var.grafana_token }
  secrets_wo_version      = 1
  node_secrets_wo         = { for k, s in var.metrics : k => { metrics_key = s.metrics_key, metrics_crt = s.metrics_certificate } }
  node_secrets_wo_version = 1
}
