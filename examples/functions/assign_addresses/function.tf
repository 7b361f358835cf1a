# A LAN: its gateway, its resolvers, and the range that its DHCP server leaves alone.
output "lan" {
  value = provider::homelab::assign_addresses(
    "192.168.1.0/24", "192.168.1.1", ["192.168.1.1"], "192.168.1.210-192.168.1.239",
    { attic = null, garage = "192.168.1.210" },
  )
}

# An overlay has none of these.
output "overlay" {
  value = provider::homelab::assign_addresses("10.100.0.0/24", null, null, null, { attic = null })
}
