# What there is to do with this repository. `make`, fuzz, sim, docs, install and release need no root, no Incus and no network
# (once dependencies are there); everything else runs on real Incus and wants a Debian 12 machine and root, and installs
# what it needs from Debian.

# rustup and Go put themselves where a bare root shell does not look.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/local/go/bin

ACCEPTANCE = cargo run --quiet --package acceptance --

.PHONY: check fuzz sim test demo soak bench scenarios prerequisites lab-up lab-down docs install release

# Formatting, lints and unit tests.
check:
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --quiet -- --deny warnings
	@cargo test --workspace --quiet

# Ten million inputs for everything that decodes; `make check` tries a few. A run says its seed, and is repeated by it:
# make fuzz FUZZ_SEED=7 FUZZ_INPUTS=100000. Only what works for it is optimised, so that all else is there already; the
# checks of a debug build stay on.
FUZZ_INPUTS ?= 10000000
FUZZ_SEED ?= $(shell date +%s)
FUZZ_OPTIMISED = tfplugin serde_json unicode-normalization rmpv rmp stats_alloc
fuzz:
	@FUZZ_INPUTS=$(FUZZ_INPUTS) FUZZ_SEED=$(FUZZ_SEED) nice cargo test \
		$(FUZZ_OPTIMISED:%=--config profile.dev.package.%.opt-level=3) \
		--package tfplugin --test fuzz --quiet -- --nocapture

# Stories of rollouts on a fleet in memory; the first that breaks an invariant is printed: make sim SEEDS=0..100000.
SEEDS ?= 0..10000
sim:
	@nice cargo run --quiet --config profile.dev.package.domain.opt-level=3 --config profile.dev.package.simulator.opt-level=3 \
		--package simulator -- --seeds $(SEEDS)

# The pages in docs/ that are made from the schemas and the examples; `check` fails when they are stale.
docs:
	@UPDATE_DOCS=1 cargo test --package terraform-provider-homelab --quiet docs::tests

# The provider, where `tofu init` looks before it asks a registry: ~/.terraform.d/plugins, or PLUGINS=folder; and
# homelabctl in ~/.local/bin, or BIN=folder.
install:
	@PLUGINS="$(PLUGINS)" BIN="$(BIN)" PREBUILT="$(PREBUILT)" ./packaging/install

# What the registries take, into dist/: make release VERSION=x.y.z [TARGETS="linux_amd64 …"] [SIGNING_KEY=…].
release:
	@VERSION="$(VERSION)" TARGETS="$(TARGETS)" SIGNING_KEY="$(SIGNING_KEY)" PREBUILT="$(PREBUILT)" ./packaging/release

# Everything: formatting, lints and unit tests, then every scenario. The last line counts all tests.
test: prerequisites
	@$(ACCEPTANCE) test

# examples/quickstart on a lab of its own, step by step.
demo: prerequisites
	@$(ACCEPTANCE) demo

# Kills the provider before and after every request of an app's create, roll, replacement in place, scale and destroy, and of
# a member's bootstrap, join and removal. Takes long.
soak: prerequisites
	@$(ACCEPTANCE) soak

# Start-up, plan, rollout and join, each as a ratio to a peer measured in the same run.
bench: prerequisites
	@$(ACCEPTANCE) bench

# Scenarios by name, for instance: make scenarios ARGS="rollout --test-threads 1", or ARGS=--describe.
scenarios: prerequisites
	@$(ACCEPTANCE) scenarios $(ARGS)

# A lab by hand, for instance: make lab-up MEMBERS=3. With LAB_INCUS=7.0 in the environment it has the newer Incus.
MEMBERS ?= 1
lab-up: prerequisites
	@$(ACCEPTANCE) lab up --members $(MEMBERS)

lab-down:
	@$(ACCEPTANCE) lab down $(LAB)

prerequisites:
	@./acceptance/prerequisites
