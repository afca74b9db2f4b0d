# The front door: `make` alone lists what can be done. Every target works on a fresh clone and
# installs what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Node 24 and all tools come from the lock file, not from the machine.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
BIN := node_modules/.bin
# Tests start the operator from its sources dozens of times; Node strips and compiles each file of it once.
export NODE_COMPILE_CACHE := $(CURDIR)/node_modules/.cache/compiled
# npm writes this file last, so it exists only after a complete installation.
INSTALLED := node_modules/.package-lock.json
VITEST := $(BIN)/vitest run $(VITEST_FLAGS)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(INSTALLED) kube helm ## install dependencies, the Kubernetes binaries and helm

.PHONY: test
test: setup ## run all tests, against a real API server
	@$(VITEST) --project unit --project integration

.PHONY: test-unit
test-unit: $(INSTALLED) ## run the tests that need nothing but Node
	@$(VITEST) --project unit

.PHONY: test-integration
test-integration: setup ## run the tests against a real API server alone (KUBE_VERSION=1.30.14: of another Kubernetes)
	@$(VITEST) --project integration

.PHONY: test-monitoring
test-monitoring: $(INSTALLED) kube prometheus ## run the alerts and the dashboard on a real Prometheus (built with Go: minutes, once)
	@$(VITEST) --project monitoring

.PHONY: test-e2e
test-e2e: setup ## run the operator against the real coderd and its daemons (RECORD=1: renew the recordings; CODER=2.26.0: on the older one)
	@BUILD_CODER=1 RECORD=$(RECORD) $(VITEST) --project "e2e*"

.PHONY: test-node
test-node: node-prerequisites setup coder node-binaries ## run the chart and Coder in real pods, on a node here or where KUBECONFIG says (LONG=1: all of it)
	@$(VITEST) --project node --project node-alone

# What CI runs of them in 10 minutes: the chart, causes of failures, typical mistakes, a workspace.
NODE_CORE := $(patsubst %,test/node/%.test.ts,operator stalled mistakes workspace)

# For CI: says so and ends well where pods cannot run, or when something would have to be built first.
.PHONY: test-node-if-possible
test-node-if-possible: setup
	@NODE_TESTS=if-possible $(VITEST) --project node --project node-alone $(NODE_CORE)

.PHONY: test-node-start
test-node-start: node-prerequisites setup node-binaries ## start and stop nodes here, kill their starters, and see what is left
	@$(VITEST) --project node-start

.PHONY: shrink
shrink: setup coder ## shrink a pool of real daemons of which two build, again and again (ROUNDS=20)
	@ROUNDS=$(or $(ROUNDS),20) $(VITEST) --project e2e test/e2e/queue.test.ts -t "shrink to these 2"

# For CI: says so and ends well when Coder has not been built here, which takes too long on the way.
.PHONY: test-e2e-if-built
test-e2e-if-built: setup
	@$(VITEST) --project "e2e*"

.PHONY: lint
lint: $(INSTALLED) ## check style, import boundaries, folders, unused code and wording
	@$(BIN)/biome check .
	@$(BIN)/knip
	@$(BIN)/node tools/folders/main.ts
	@$(BIN)/textlint -c tools/prose/textlint.json --ignore-path tools/prose/ignored . .github

.PHONY: types
types: $(INSTALLED) ## check types
	@$(BIN)/tsc --noEmit

.PHONY: generate
generate: $(INSTALLED) ## write CRDs, RBAC and reference pages from their sources
	@$(BIN)/node tools/generate/main.ts

.PHONY: check-generated
check-generated: $(INSTALLED) ## fail when a generated file is not what its source says
	@$(BIN)/node tools/generate/main.ts --check

.PHONY: build
build: $(INSTALLED) ## bundle the operator into dist/coder-k8s.mjs
	@$(BIN)/node tools/build/main.ts

.PHONY: plugin
plugin: $(INSTALLED) ## bundle kubectl coder into dist/kubectl-coder, for Node on the PATH
	@$(BIN)/node tools/plugin/main.ts

.PHONY: package
package: $(INSTALLED) ## pack the controller runtime as others install it into dist/kube-controller-runtime-<version>.tgz
	@$(BIN)/node tools/package/main.ts

.PHONY: image
image: $(INSTALLED) ## build the image as an OCI layout, without Docker (PLATFORMS="amd64 arm64" OUT=dist/image BASE=dir SYSROOT=dir)
	@$(BIN)/node tools/image/main.ts $(if $(PLATFORMS),--platforms="$(PLATFORMS)") $(if $(OUT),--out="$(OUT)") \
	  $(if $(BASE),--base="$(BASE)") $(if $(SYSROOT),--sysroot="$(SYSROOT)")

.PHONY: coder-image
coder-image: $(INSTALLED) ## pack the Coders of the tests as images for containerd, on Linux (built with Go: minutes, once)
	@$(BIN)/node tools/coder-image/main.ts

# Everything but publishing, which the release workflow does with what this builds.
.PHONY: release
release: $(INSTALLED) helm ## build all that a release consists of (VERSION=x.y.z DRY_RUN=1 OUT=dist/release, and as for image)
	@$(BIN)/node tools/release/main.ts --version="$(VERSION)" $(if $(DRY_RUN),--dry-run) $(if $(OUT),--out="$(OUT)") \
	  $(if $(PLATFORMS),--platforms="$(PLATFORMS)") $(if $(BASE),--base="$(BASE)") $(if $(SYSROOT),--sysroot="$(SYSROOT)")

.PHONY: bench
bench: $(if $(TRACE),$(INSTALLED),setup build) ## measure the operator, publish the figures in docs/performance.md (WORKLOADS="fleet hot": only these; GO_OPERATOR=file: beside the Go operator; TRACE=1: only draw where the time goes)
	@$(BIN)/node $(if $(TRACE),bench/trace/main.ts,bench/main.ts --publish $(WORKLOADS))

.PHONY: simulate-queue
simulate-queue: $(INSTALLED) ## simulate pools that follow the queue, publish figures and curves in docs/performance.md
	@$(BIN)/node bench/queue/main.ts

.PHONY: docs
docs: $(INSTALLED) ## build the site of the documentation (SERVE=1: show it, and changes to it)
	@$(BIN)/vitepress $(if $(SERVE),dev,build) docs

.PHONY: demo
demo: $(INSTALLED) $(if $(NODE),,kube $(if $(REAL),coder)) ## run everything here to play with (ONCE=1: end when ready; REAL=1: the real Coder; NODE=1: with real pods)
	@$(BIN)/node demo/$(if $(NODE),node/)main.ts $(if $(ONCE),--once) $(if $(REAL),$(if $(NODE),,--real))

.PHONY: node
node: $(INSTALLED) ## start a cluster of one real node here, as root on Linux (STOP=1: stop it)
	@$(BIN)/node tools/node/main.ts $(if $(STOP),--stop)

.PHONY: film
film: $(INSTALLED) kube ## run the demo and draw docs/images/demo.svg from it
	@$(BIN)/node demo/film/main.ts

.PHONY: chaos
chaos: $(INSTALLED) kube ## break everything under a fleet and see whether it heals (SEED=n MINUTES=m OBJECTS=n)
	@$(BIN)/node test/chaos/main.ts $(if $(SEED),--seed=$(SEED)) $(if $(MINUTES),--minutes=$(MINUTES)) \
	  $(if $(OBJECTS),--objects=$(OBJECTS))

.PHONY: fence
fence: setup ## stop the leader at many points of its work and count what it still sends (POINTS=20 SEED=n)
	@POINTS=$(or $(POINTS),20) $(if $(SEED),SEED=$(SEED)) $(VITEST) --project integration test/integration/manager/stopped-leader.test.ts

.PHONY: flaky
flaky: setup ## look for tests that fail by chance, in changing order and under load (RUNS=n PART=unit|all SEED=n)
	@$(BIN)/node test/flaky/main.ts --runs=$(or $(RUNS),5) --part=$(or $(PART),all) $(if $(SEED),--seed=$(SEED)) \
	  -- $(VITEST_FLAGS)

.PHONY: mutants
mutants: $(INSTALLED) ## break guards one at a time, in a copy, and see whether a test notices (ONLY=words: only these)
	@$(BIN)/node test/mutants/main.ts $(ONLY)

.PHONY: fuzz
fuzz: $(INSTALLED) kube ## feed the operator extreme objects and hostile answers (SEED=n MINUTES=m)
	@$(BIN)/node test/fuzz/main.ts $(if $(SEED),--seed=$(SEED)) $(if $(MINUTES),--minutes=$(MINUTES))

.PHONY: clean
clean: ## remove dependencies and build results (the Kubernetes binaries stay in the per-user cache)
	@rm -rf node_modules dist coverage

.PHONY: kube
kube: $(INSTALLED)
	@$(BIN)/node packages/kube-controller-runtime/testing/kube/main.ts >/dev/null

# Before anything is built for many minutes.
.PHONY: node-prerequisites
node-prerequisites: $(INSTALLED)
	@[[ -n "$$KUBECONFIG" ]] || $(BIN)/node packages/kube-controller-runtime/testing/node/main.ts --check

.PHONY: node-binaries
node-binaries: $(INSTALLED)
	@[[ -n "$$KUBECONFIG" ]] || $(BIN)/node packages/kube-controller-runtime/testing/node/main.ts >/dev/null

.PHONY: coder
coder: $(INSTALLED)
	@$(BIN)/node tools/coder/main.ts >/dev/null

.PHONY: prometheus
prometheus: $(INSTALLED)
	@$(BIN)/node tools/prometheus/main.ts >/dev/null

.PHONY: helm
helm: $(INSTALLED)
	@$(BIN)/node tools/helm/main.ts >/dev/null

$(INSTALLED): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer" >&2; exit 1; }
	@echo "installing npm packages"
# Warnings are left out: npm itself may run on an older Node than the one it installs for us.
	@npm ci --prefer-offline --loglevel=error
	@touch $@
