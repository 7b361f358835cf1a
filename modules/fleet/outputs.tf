output "machines" {
  description = "The machines, for homelab_cluster_member."
  value       = homelab_instance.this
}

output "endpoints" {
  description = "Where Incus will answer, the machine with the role bootstrap first: for `endpoints` of a provider block."
  value = [
    for name in concat(
      [for name, machine in var.machines : name if machine.role == "bootstrap"],
      [for name, machine in var.machines : name if machine.role != "bootstrap"],
    ) : "https://${homelab_instance.this[name].address}:8443"
  ]
}

output "addresses" {
  description = "Machine → its address in the LAN."
  value       = homelab_network.lan.assignments
}

output "overlay_addresses" {
  description = "Machine or peer → its address in the overlay."
  value       = one(homelab_network.overlay[*].assignments)
}

output "seeds" {
  description = "Machine → the files of its seed by name. They hold the machine's secrets."
  value       = { for name, seed in homelab_seed.this : name => seed.files }
  sensitive   = true
}

output "metrics_certificates" {
  description = "Machine → the certificate that its metrics are read with, for homelab_cluster_member."
  value       = { for name, seed in homelab_seed.this : name => seed.metrics_certificate }
}

output "metrics" {
  description = "Machine → the certificate and key that its metrics are read with."
  value = {
    for name, seed in homelab_seed.this : name => {
      certificate = seed.metrics_certificate
      key         = seed.metrics_key
    }
  }
  sensitive = true
}

output "hub_config" {
  description = <<-EOT
    The hub's whole configuration for wg-quick: /etc/wireguard/INTERFACE.conf. The hub's private key is not in it; wg-quick
    reads it from /etc/wireguard/INTERFACE.key, which stays on the hub.
  EOT
  value = var.overlay == null ? null : templatefile("${path.module}/hub.conf.tftpl", {
    address = "${cidrhost(var.overlay.cidr, 1)}/${split("/", var.overlay.cidr)[1]}"
    port    = regex("[0-9]+$", var.overlay.hub.endpoint)
    peers   = [for seed in homelab_seed.this : seed.hub_peer]
    own = {
      for name, peer in var.overlay.peers : name => {
        public_key = peer.public_key
        address    = homelab_network.overlay[0].assignments[name]
      }
    }
  })
}
