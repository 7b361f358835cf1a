# All members of a cluster that is there already: the plan shows nothing but the imports.
data "homelab_cluster" "this" {}

import {
  for_each = toset(["attic", "basement", "garage"])
  to       = homelab_cluster_member.existing[each.key]
  id       = each.key
}

resource "homelab_cluster_member" "existing" {
  for_each = { for member in data.homelab_cluster.this.members : member.name => member }
  name     = each.key
  address  = each.value.address
}
