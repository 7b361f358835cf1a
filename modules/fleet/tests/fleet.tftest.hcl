# Run with `tofu test` in the module's folder. Nothing is reached, and nothing is written outside of tests/seeds.

variables {
  network = {
    cidr         = "192.168.1.0/24"
    gateway      = "192.168.1.1"
    dns          = ["192.168.1.1"]
    static_range = "192.168.1.210-192.168.1.239"
  }
  machines = {
    a = { mac = "52:54:00:00:00:0a", role = "bootstrap", pin = "192.168.1.230" }
    b = { mac = "52-54-00-00-00-0B" }
    c = { mac = "5254.0000.000c", disk = { bus = "nvme", sort_order = "smallest" } }
  }
  break_glass_certificate = file("./tests/break-glass.crt")
  joiner_certificate      = file("./tests/joiner.crt")
}

run "without_an_overlay" {
  command = plan

  assert {
    condition     = output.addresses == tomap({ a = "192.168.1.230", b = "192.168.1.210", c = "192.168.1.211" })
    error_message = "The plan does not show the final addresses."
  }
  assert {
    condition     = output.endpoints == ["https://192.168.1.230:8443", "https://192.168.1.210:8443", "https://192.168.1.211:8443"]
    error_message = "The machine with the role bootstrap is not the first endpoint."
  }
  assert {
    condition     = output.hub_config == null && output.overlay_addresses == null
    error_message = "There is a hub without an overlay."
  }
}

run "with_an_overlay" {
  variables {
    overlay = {
      hub = { endpoint = "hub.example.net:51821", public_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=" }
      peers = {
        laptop = { public_key = "eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHk=" }
      }
    }
    output = { folder = "./tests/seeds" }
  }

  assert {
    condition     = length(distinct(values(output.overlay_addresses))) == 4
    error_message = "Two of the three machines and the laptop share an overlay address."
  }
  assert {
    condition     = startswith(output.hub_config, "[Interface]\nAddress = 10.100.0.1/24\nListenPort = 51821\n")
    error_message = "The hub does not listen where the machines dial to."
  }
  assert {
    condition     = length(regexall("\\[Peer\\]", output.hub_config)) == 4 && strcontains(output.hub_config, "# laptop")
    error_message = "The hub does not know every machine and the operator's own peer."
  }
  assert {
    condition = alltrue([
      for name, seed in output.seeds : strcontains(seed["network.json"], output.overlay_addresses[name])
    ])
    error_message = "A seed has another overlay address than its machine."
  }
  assert {
    condition     = strcontains(output.seeds["a"]["incus.json"], "\"enabled\"") && !strcontains(output.seeds["b"]["incus.json"], "\"enabled\"")
    error_message = "Not exactly the machine with the role bootstrap begins a cluster."
  }
}

run "two_bootstraps" {
  command = plan

  variables {
    machines = {
      a = { mac = "52:54:00:00:00:0a", role = "bootstrap" }
      b = { mac = "52:54:00:00:00:0b", role = "bootstrap" }
    }
  }

  expect_failures = [var.machines]
}

run "a_peer_with_the_name_of_a_machine" {
  command = plan

  variables {
    overlay = {
      hub   = { endpoint = "hub.example.net:51820", public_key = "pRZ2cZ2LkG8cT8b7S9P7m0Z1mN4Q1o3y0l0r1s2t3U4=" }
      peers = { b = { public_key = "eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHl6eHk=" } }
    }
  }

  expect_failures = [var.overlay]
}
