terraform {
  required_providers {
    homelab = { source = "homelab-ops/homelab" }
  }
}

# Without anything, Incus on this machine is used. Over the network the members are tried in turn.
provider "homelab" {
  endpoints           = ["https://192.168.1.210:8443", "https://192.168.1.211:8443"]
  client_certificate  = file("client.crt")
  client_key          = file("client.key")
  server_fingerprints = ["3e2a9c4f0b7d5e81c6a4f2d09b8e7c5a1f3d6b2e4c8a0f9d7b5e3c1a2f4d6b8e"]
}
