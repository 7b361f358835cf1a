# An app is imported by its name.
tofu import homelab_app.web web
