import {
  to = homelab_app.web
  id = "web"
}
