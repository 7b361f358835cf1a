# A machine is imported by its name; the next plan completes the rest.
tofu import 'homelab_instance.node["attic"]' attic
