# For a server that joins by hand. Machines of this configuration need none: homelab_cluster_member makes its own.
ephemeral "homelab_join_token" "guest" {
  name = "guest"
}

# It is used in the apply that makes it; afterwards it is revoked unless it was used.
resource "terraform_data" "guest" {
  provisioner "local-exec" {
    command     = "ssh root@guest.example.net incus-join"
    environment = { TOKEN = ephemeral.homelab_join_token.guest.token }
  }
}
