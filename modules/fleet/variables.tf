variable "network" {
  description = "The LAN that the machines are in. `static_range` is what its DHCP server leaves alone, `first-last`."
  type = object({
    name         = optional(string, "lan")
    cidr         = string
    gateway      = string
    dns          = list(string)
    static_range = string
  })
  nullable = false
}

variable "machines" {
  description = <<-EOT
    The machines by name. `role` is `bootstrap` for the one that the cluster begins with, `join` for the others; `pin` and
    `overlay_pin` choose an address; `disk`, `security` and `extra_files` are `install_disk`, `security` and `extra_files` of
    homelab_instance and homelab_seed; a change of `rotate` makes new keys.
  EOT
  type = map(object({
    mac         = string
    role        = optional(string, "join")
    pin         = optional(string)
    overlay_pin = optional(string)
    disk = optional(object({
      id         = optional(string)
      bus        = optional(string)
      min_size   = optional(string)
      max_size   = optional(string)
      sort_order = optional(string)
    }))
    security = optional(object({
      tpm         = optional(bool)
      secure_boot = optional(bool)
    }))
    extra_files = optional(map(string))
    rotate      = optional(string)
  }))
  nullable = false

  validation {
    condition     = length([for machine in var.machines : machine if machine.role == "bootstrap"]) == 1
    error_message = "Exactly one machine has the role \"bootstrap\": the cluster begins with it. All others have \"join\"."
  }
}

variable "break_glass_certificate" {
  description = "The operator's own client certificate, in PEM form; every machine trusts it. `homelabctl cert new` makes it."
  type        = string
  nullable    = false
}

variable "joiner_certificate" {
  description = "The client certificate of whoever joins machines to the cluster, in PEM form. Only joining machines trust it."
  type        = string
  default     = null
}

variable "overlay" {
  description = <<-EOT
    The WireGuard overlay by which the machines are managed from elsewhere; none if unset. `hub` is where the machines dial
    to; `peers` are the operator's own devices by name, with an address or the next free one.
  EOT
  type = object({
    name = optional(string, "wg")
    cidr = optional(string, "10.100.0.0/24")
    hub = object({
      endpoint   = string
      public_key = string
    })
    keepalive = optional(number)
    peers = optional(map(object({
      public_key = string
      address    = optional(string)
    })), {})
  })
  default = null

  validation {
    condition     = length(setintersection(keys(var.machines), keys(try(var.overlay.peers, {})))) == 0
    error_message = "A peer of the overlay has the name of a machine. Both get their addresses by name: choose another name for the peer."
  }
}

variable "output" {
  description = "The folder that the seeds are written to, and their format; only in the state if unset."
  type = object({
    folder = string
    format = optional(string, "tar")
  })
  default = null
}

variable "encrypt_to" {
  description = "The age recipients (`age1…`) that can read the written seeds."
  type        = list(string)
  default     = null
}

variable "applications" {
  description = "What IncusOS installs at its first start; `[\"incus\"]` if unset."
  type        = list(string)
  default     = null
}

variable "update" {
  description = "How IncusOS keeps itself up to date; its own defaults if unset."
  type = object({
    channel         = optional(string)
    auto_reboot     = optional(bool)
    check_frequency = optional(string)
    maintenance_windows = optional(list(object({
      start_day_of_week = optional(string)
      start_hour        = optional(number)
      start_minute      = optional(number)
      end_day_of_week   = optional(string)
      end_hour          = optional(number)
      end_minute        = optional(number)
    })))
  })
  default = null
}

variable "incusos_release" {
  description = "The release of IncusOS on the media; the oldest supported one if unset."
  type        = string
  default     = null
}
