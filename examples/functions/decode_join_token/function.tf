variable "token" {
  type        = string
  sensitive   = true
  description = "What `incus cluster add` printed."
}

output "token_is_for" {
  value = nonsensitive(provider::homelab::decode_join_token(var.token).server_name)
}
