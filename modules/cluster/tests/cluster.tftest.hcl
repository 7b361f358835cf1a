# Run with `tofu test` in the module's folder. Only plans: nobody is reached.

variables {
  machines = {
    a = { address = "192.168.1.210", role = "bootstrap" }
    b = { address = "192.168.1.211" }
    c = { address = "192.168.1.212" }
  }
}

provider "homelab" {
  endpoints = ["unix:///nowhere/unix.socket"]
}

run "members_of_machines" {
  command = plan

  variables {
    members    = { b = { groups = ["default", "gpu"], failure_domain = "rack-2" } }
    on_destroy = { evacuate = true }
  }

  assert {
    condition     = toset([for member in homelab_cluster_member.this : member.role]) == toset(["bootstrap", "join"])
    error_message = "The roles are not those of the machines."
  }
  assert {
    condition     = homelab_cluster_member.this["b"].failure_domain == "rack-2" && homelab_cluster_member.this["a"].failure_domain == null
    error_message = "What is declared of one member is declared of another."
  }
}

run "no_bootstrap" {
  command = plan

  variables {
    machines = { a = { address = "192.168.1.210" } }
  }

  expect_failures = [var.machines]
}

run "a_member_that_is_no_machine" {
  command = plan

  variables {
    members = { d = { state = "evacuated" } }
  }

  expect_failures = [var.members]
}
