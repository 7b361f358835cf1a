output "mac" {
  value = provider::homelab::normalize_mac("5254.0000.000A") # "52:54:00:00:00:0a"
}
