# A pair of WireGuard keys. Hand both halves on in the same apply, to write-only attributes.
ephemeral "homelab_keypair" "tunnel" {
  kind = "wireguard"
}

# A client certificate for the trust store of Incus.
ephemeral "homelab_keypair" "operator" {
  kind        = "client-certificate"
  common_name = "operator"
  validity    = "8760h"
}

locals {
  tunnel_key = ephemeral.homelab_keypair.tunnel.private_key
}
