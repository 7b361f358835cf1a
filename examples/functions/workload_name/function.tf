output "single" {
  value = provider::homelab::workload_name("web", 3) # "web-g3"
}

output "first_of_several" {
  value = provider::homelab::workload_name("web", 3, 0) # "web-0-g3"
}
