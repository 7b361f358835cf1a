variable "machines" {
  description = <<-EOT
    The machines by name, usually `machines` of the module `fleet`. Exactly one has the role `bootstrap`; the others join it.
  EOT
  type = map(object({
    address = string
    role    = optional(string, "join")
  }))
  nullable = false

  validation {
    condition     = length([for machine in var.machines : machine if machine.role == "bootstrap"]) == 1
    error_message = "Exactly one machine has the role \"bootstrap\": the cluster begins with it. All others have \"join\"."
  }
}

variable "members" {
  description = <<-EOT
    What is declared of single members, by the machine's name; whatever is left out is left to others. `server_fingerprint`
    is that of the machine before it joins, `state` is `online` or `evacuated`.
  EOT
  type = map(object({
    server_fingerprint = optional(string)
    groups             = optional(list(string))
    config             = optional(map(string))
    failure_domain     = optional(string)
    state              = optional(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(setsubtract(keys(var.members), keys(var.machines))) == 0
    error_message = "Something is declared of a member that is no machine: ${join(", ", setsubtract(keys(var.members), keys(var.machines)))}."
  }
}

variable "storage" {
  description = "The pool that every member has; leave it out for IncusOS, and on plain Linux for no pool."
  type = object({
    pool   = string
    driver = string
    source = optional(string)
  })
  default = null
}

variable "metrics_certificates" {
  description = "Machine → the certificate that its metrics are read with, in PEM form."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "on_destroy" {
  description = "What removing a member may do. It counts once it was applied."
  type = object({
    evacuate = optional(bool)
    force    = optional(bool)
  })
  default = null
}

variable "timeouts" {
  description = "How long a member may take; an hour for a create if unset, since machines have to be installed."
  type = object({
    create = optional(string)
    update = optional(string)
    delete = optional(string)
  })
  default = null
}
