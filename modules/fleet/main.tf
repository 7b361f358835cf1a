locals {
  # Machines and the operator's devices share the overlay, so nobody can be given the other's address.
  overlay_claims = var.overlay == null ? {} : merge(
    { for name, machine in var.machines : name => machine.overlay_pin },
    { for name, peer in var.overlay.peers : name => peer.address },
  )

  extension = {
    tar           = "tar"
    seed-data-img = "img"
    seed-data-iso = "iso"
  }
}

resource "homelab_network" "lan" {
  name         = var.network.name
  cidr         = var.network.cidr
  gateway      = var.network.gateway
  dns          = var.network.dns
  static_range = var.network.static_range
  claims       = { for name, machine in var.machines : name => machine.pin }
}

resource "homelab_network" "overlay" {
  count = var.overlay == null ? 0 : 1

  kind   = "overlay"
  name   = var.overlay.name
  cidr   = var.overlay.cidr
  claims = local.overlay_claims
}

resource "homelab_instance" "this" {
  for_each = var.machines

  name         = each.key
  mac          = each.value.mac
  role         = each.value.role
  network      = homelab_network.lan
  address      = homelab_network.lan.assignments[each.key]
  security     = each.value.security
  install_disk = each.value.disk
}

resource "homelab_seed" "this" {
  for_each = homelab_instance.this

  machine                 = each.value
  break_glass_certificate = var.break_glass_certificate
  joiner_certificate      = each.value.role == "join" ? var.joiner_certificate : null

  wireguard = var.overlay == null ? null : {
    network   = homelab_network.overlay[0]
    address   = homelab_network.overlay[0].assignments[each.key]
    hub       = var.overlay.hub
    keepalive = var.overlay.keepalive
  }

  applications    = var.applications
  update          = var.update
  extra_files     = var.machines[each.key].extra_files
  incusos_release = var.incusos_release
  rotate          = var.machines[each.key].rotate
  encrypt_to      = var.output == null ? null : var.encrypt_to

  output = var.output == null ? null : {
    format = var.output.format
    path = join("", [
      "${var.output.folder}/${each.key}.",
      lookup(local.extension, var.output.format, var.output.format),
      try(length(var.encrypt_to), 0) > 0 ? ".age" : "",
    ])
  }
}
