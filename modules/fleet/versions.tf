terraform {
  required_version = ">= 1.9"

  required_providers {
    homelab = {
      source  = "homelab-ops/homelab"
      version = ">= 0.1"
    }
  }
}
