# Targets for people and workflows. Workflows install and prepare everything through these targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKFLOWS := tests/workflows
PAGES := tests/browser
ACT := tests/act
UV := build/uv/bin/uv
NODE_TOOLS := $(if $(shell command -v npm 2>/dev/null),$(WORKFLOWS)/node_modules/.engine.cjs $(PAGES)/node_modules/.package-lock.json $(ACT)/node_modules/.package-lock.json)

# Everything is installed by its hashes. On GitHub's machines uv does it, in a tenth of pip's time; elsewhere an installed uv is
# used. If uv is missing or fails (for example with a mirror that only pip knows), pip installs with the same hashes.
define INSTALL
uv=$$(command -v uv || echo $(UV)); \
if ! "$$uv" --version >/dev/null 2>&1 || ! "$$uv" pip install --quiet --python $(BIN)/python $(1); then \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(1); \
fi
endef

# What takes too long for every change, in parts; PART names one.
NIGHTLY := attacks faults extras fuzz soak load image audit zensical
LOCKS := $(wildcard requirements/*.txt evaluator/requirements.txt evaluator/extras/*.txt)

.PHONY: help demo test check act nightly $(NIGHTLY:%=nightly-%) lint audit zensical bench fuzz dev site probe here runtime gvisor image sbom recorded \
	mujoco atari chess minigrid notebook lock clean

# The first target, so that `make` alone shows it.
help: ## What can be made
	@sed -n 's/^\([a-z][a-z -]*\):[^#]*## /\1: /p' $(MAKEFILE_LIST)

demo: $(VENV)/runtime.done ## Evaluate every agent here, verify, rank, build the site
	@$(BIN)/pullrank demo

test: $(VENV)/dev.done $(NODE_TOOLS) ## All tests; those that need a container engine are skipped without one
ifdef ARGS
	@$(BIN)/python -m pytest $(ARGS)
else
	@$(BIN)/python -m pytest -n auto tests
endif

check: $(VENV)/dev.done ## Lint and tests of the files that your change touches, without containers and browser
	@$(BIN)/python -m tests.changed

act: $(VENV)/dev.done $(NODE_TOOLS) ## The workflows under act, including the long chapters; PULLRANK_ACTIONS names the actions' folder
	@PULLRANK_REQUIRE_ACT=1 PULLRANK_ACT_CHAPTERS=$${PULLRANK_ACT_CHAPTERS:-1} \
		$(BIN)/python -m pytest $(ACT) $(WORKFLOWS)/test_facts.py $(ARGS)

lint: $(VENV)/dev.done ## All static checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/interrogate -q evaluator leaderboard scripts
	$(BIN)/codespell
	$(BIN)/pullrank schemas --check
	$(BIN)/zizmor --quiet --offline --strict-collection --persona auditor .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

fuzz: $(VENV)/dev.done ## A million inputs for each reader; READERS="frames traces" and CASES=10000 for less, GUIDED=1 by coverage
	@$(if $(GUIDED),$(call INSTALL,--require-hashes -r requirements/fuzz.txt))
	@$(BIN)/python -m tests.fuzz $(or $(READERS),all) --cases $(or $(CASES),1000000) $(if $(GUIDED),--guided)

# pip-audit asks the index for each pinned version; +cpu is a name that only torch's own index knows.
audit: $(VENV)/dev.done ## Known vulnerabilities of everything that is pinned; asks the package index
	@rm -rf build/audit && mkdir -p build/audit
	@for lock in $(LOCKS); do sed 's/+cpu//' $$lock >build/audit/$$(echo $$lock | tr / -); done
	$(BIN)/pip-audit --strict --progress-spinner off --disable-pip --require-hashes $(foreach lock,$(LOCKS),-r build/audit/$(subst /,-,$(lock)))

nightly: $(if $(PART),nightly-$(PART),$(NIGHTLY:%=nightly-%)) ## What takes too long for every change; PART=attacks, faults, …

nightly-attacks: $(VENV)/dev.done # each attack under every sandbox
	@PULLRANK_ALL_ATTACKS=1 $(BIN)/python -m pytest -n auto tests/hostile $(ARGS)

nightly-faults: $(VENV)/dev.done # a kill at every named point
	@PULLRANK_ALL_FAULTS=1 $(BIN)/python -m pytest -n auto tests/faults $(ARGS)

nightly-extras: $(VENV)/dev.done # what agents with torch and stable-baselines3 do, in full
	@PULLRANK_ALL_EXTRAS=1 PULLRANK_REQUIRE_EXTRAS=1 $(BIN)/python -m pytest tests/docker/test_extras.py $(ARGS)

nightly-fuzz: fuzz

nightly-soak: $(VENV)/dev.done
	@$(BIN)/python -m bench.soak $(ARGS)

nightly-load: $(VENV)/dev.done
	@$(BIN)/python -m tests.load $(ARGS)

nightly-image: $(VENV)/runtime.done # the same image from the same sources, with and without extras
	@$(BIN)/pullrank image rebuild
	@$(BIN)/pullrank image rebuild --extras "grpc onnx"
	@$(BIN)/pullrank image rebuild --extras "sb3 torch"

nightly-audit: audit

nightly-zensical: zensical

# Reports only: whatever goes wrong blocks nothing.
zensical: $(VENV)/dev.done ## The hand-written pages under Zensical, MkDocs' possible successor: what differs
	-@$(PYTHON) -m venv build/zensical && \
	build/zensical/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/zensical.txt && \
	$(BIN)/python -m tests.browser.engines build/zensical/bin/zensical

bench: $(VENV)/dev.done ## Speed, as ratios within one run; PART=worlds for the report of all worlds and ways
	@$(BIN)/python -m bench$(if $(PART),.$(PART)) $(ARGS)

site: $(VENV)/runtime.done ## Build the site from the recorded results
	@$(BIN)/pullrank site build

probe: $(VENV)/runtime.done ## Show that the sandbox forbids and allows what it should
	@$(BIN)/pullrank probe

dev: $(VENV)/dev.done ## An environment for development

# The first steps of the workflows: a check before anything is installed, then the installation.
here: ## Check whether challenge.yml names this repository, for the later steps
	@$(PYTHON) -m scripts.github.workflow.right_repository

# With the packages that challenge.yml's environments need, by the names that are known here.
EXTRAS := $(shell grep -oE '\bextra: *["'"'"']?(mujoco|atari|chess|minigrid)\b' challenge.yml | grep -oE '[a-z]+$$' | sort -u)
runtime: $(VENV)/runtime.done $(EXTRAS:%=$(VENV)/%.done) ## An environment to run in

# Only on GitHub's own machines, which are deleted after the job, is anything installed.
gvisor: $(VENV)/runtime.done ## gVisor for the container engine, if challenge.yml evaluates in it; ALWAYS=1 in any case
	@$(BIN)/pullrank gvisor $(if $(filter github-hosted,$(RUNNER_ENVIRONMENT)),--install) $(if $(ALWAYS),--always)

image: $(VENV)/runtime.done ## The evaluator image: EVALUATOR_IMAGE from its registry, or built here
	@$(BIN)/pullrank image ensure

sbom: $(VENV)/runtime.done ## What the evaluator image is made of: build/sbom.cdx.json
	@$(BIN)/pullrank image sbom --out build/sbom.cdx.json

recorded: $(VENV)/runtime.done ## Fetch the records on the branch results into results/
	@$(BIN)/pullrank recorded

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Pullrank needs Python 3.11 or newer; this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(if $(GITHUB_ACTIONS),--without-pip) $(VENV)

# Installed by the machine's own pip, into a separate folder; no cache is kept between jobs, since it could be poisoned.
$(UV): requirements/uv.txt
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target build/uv --upgrade --no-deps --require-hashes -r $< && \
	touch $@ || echo "uv cannot be installed here; pip installs everything."

$(VENV)/runtime.done: requirements/runtime.txt pyproject.toml | $(VENV)/bin/python $(if $(GITHUB_ACTIONS),$(UV))
	@echo "Installing what is pinned in requirements/runtime.txt …"
	@$(call INSTALL,--require-hashes -r requirements/runtime.txt)
	@$(call INSTALL,--no-build-isolation --no-deps --editable .)
	@$(if $(GITHUB_ACTIONS),,$(BIN)/python -m compileall -q evaluator leaderboard scripts) # commands then start in half the time
	@touch $@

$(VENV)/dev.done: requirements/dev.txt $(VENV)/runtime.done
	@$(call INSTALL,--require-hashes -r requirements/dev.txt)
	@touch $@

# GitHub's own workflow parser and expression engine, for the tests of the workflows; without npm those tests are skipped.
$(WORKFLOWS)/node_modules/.engine.cjs: $(WORKFLOWS)/package-lock.json $(WORKFLOWS)/engine.mjs
	@npm ci --prefix $(WORKFLOWS) --ignore-scripts --no-audit --no-fund --silent && \
	$(WORKFLOWS)/node_modules/.bin/esbuild $(WORKFLOWS)/engine.mjs --bundle --platform=node --format=cjs --log-level=warning --outfile=$@ || \
	echo "npm cannot install what the tests of the workflows need; they will be skipped."

# axe-core and html-validate, for the tests of the pages.
$(PAGES)/node_modules/.package-lock.json: $(PAGES)/package-lock.json
	@npm ci --prefix $(PAGES) --ignore-scripts --no-audit --no-fund --silent && touch $@ || \
	echo "npm cannot install what the tests of the pages need; they will be skipped."

# Node 24, which the actions need under act; this machine may have another version.
$(ACT)/node_modules/.package-lock.json: $(ACT)/package-lock.json
	@npm ci --prefix $(ACT) --ignore-scripts --no-audit --no-fund --silent && touch $@ || \
	echo "npm cannot install what the tests under act need; they will be skipped."

# Environments that need more packages: each target installs them and evaluates an agent on them.
mujoco atari chess minigrid: %: $(VENV)/%.done
	@$(BIN)/pullrank evaluate example_agents/random --challenge evaluator/environments/$@.yml --out build/$@/results

# Builds fetch nothing: chess is published as source only, and the setuptools that builds it is pinned in runtime.txt.
$(VENV)/mujoco.done $(VENV)/atari.done $(VENV)/chess.done $(VENV)/minigrid.done $(VENV)/notebook.done: $(VENV)/%.done: requirements/%.txt $(VENV)/runtime.done
	@$(call INSTALL,--no-build-isolation --require-hashes -r $<)
	@touch $@

notebook: $(VENV)/notebook.done ## Install what results are exported to from a notebook, and the encoder of videos

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-strip-extras \
	--custom-compile-command 'make lock'
lock: ## Renew the lock files (needs uv)
	$(LOCK) requirements/uv.in -o requirements/uv.txt
	$(LOCK) requirements/runtime.in -o requirements/runtime.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/mujoco.in -o requirements/mujoco.txt
	$(LOCK) requirements/atari.in -o requirements/atari.txt
	$(LOCK) requirements/chess.in -o requirements/chess.txt
	$(LOCK) requirements/minigrid.in -o requirements/minigrid.txt
	$(LOCK) requirements/notebook.in -o requirements/notebook.txt
	$(LOCK) requirements/fuzz.in -o requirements/fuzz.txt
	$(LOCK) requirements/zensical.in -o requirements/zensical.txt
	$(LOCK) evaluator/requirements.in -o evaluator/requirements.txt
	for name in onnx grpc torch sb3; do $(LOCK) $${PULLRANK_WHEELS:+--index $$PULLRANK_WHEELS} \
		evaluator/extras/$$name.in -o evaluator/extras/$$name.txt || exit 1; done

clean: ## Remove what can be made again; results/ stay
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache *.egg-info
