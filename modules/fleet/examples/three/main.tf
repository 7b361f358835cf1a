# Three machines with an overlay: the seeds are written encrypted, and the hub's configuration is printed.

module "fleet" {
  source = "../.."

  network = {
    cidr         = "192.168.1.0/24"
    gateway      = "192.168.1.1"
    dns          = ["192.168.1.1"]
    static_range = "192.168.1.210-192.168.1.239"
  }

  machines = {
    a = { mac = "52:54:00:00:00:0a", role = "bootstrap", pin = "192.168.1.210" }
    b = { mac = "52:54:00:00:00:0b" }
    c = { mac = "52:54:00:00:00:0c", disk = { bus = "nvme", sort_order = "smallest" } }
  }

  break_glass_certificate = file("${path.root}/break-glass.crt")
  joiner_certificate      = file("${path.root}/joiner.crt")

  overlay = {
    hub   = { endpoint = "hub.example.net:51820", public_key = var.hub_public_key }
    peers = { laptop = { public_key = var.laptop_public_key } }
  }

  output     = { folder = "${path.root}/seeds" }
  encrypt_to = [var.recipient]
}

variable "hub_public_key" {
  type = string
}

variable "laptop_public_key" {
  type = string
}

variable "recipient" {
  type = string
}

output "hub_config" {
  value = module.fleet.hub_config
}
