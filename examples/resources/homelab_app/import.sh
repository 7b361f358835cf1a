# An app is imported by its name.
tofu import homelab_app.web web

# Instances that were made by hand are taken over, as replicas 0 and 1, by the next apply.
tofu import homelab_app.web web=web-1,web-2
