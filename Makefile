# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Each makes its own environment in .venv from requirements.lock (exact versions, with hashes).
# Override with: make test PYTHON=python3.12   make demo ARGS="--into demo"   make test ARGS="-k bm25"

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

PYTHON ?=
ARGS ?=
WORKERS ?= auto
SERVE ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CANDIDATES := python3.13 python3.12 python3.11 python3.14 python3 python
CHECKED := src tests $(wildcard examples) $(wildcard benchmarks) $(wildcard experiments) $(wildcard tools)

# Settings of the caller that would change what is installed or imported inside the environment.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP VIRTUAL_ENV
export PIP_USER := 0
export PIP_REQUIRE_VIRTUALENV := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

# A candidate counts only when it really runs (a version manager's stand-in may exist and fail),
# is new enough, and can make environments.
USABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))

HUB := .venv-hub
HUB_READY := $(HUB)/.ready
HUB_TESTS := tests/train tests/device tests/encode/hub tests/cli/test_train.py tests/cli/test_train_align.py tests/cli/test_picture_model.py tests/tools/training
WITH_HUB ?= yes
WITH_CLUSTER ?= yes
CLUSTER_TESTS := tests/cluster
WITH_BROWSER ?= yes
BROWSER_TESTS := tests/page
LEAVE_OUT := $(HUB_TESTS) $(if $(filter no,$(WITH_CLUSTER)),$(CLUSTER_TESTS)) $(if $(filter no,$(WITH_BROWSER)),$(BROWSER_TESTS))
MUST := $(if $(filter must,$(WITH_CLUSTER)),$(CLUSTER_TESTS)) $(if $(filter must,$(WITH_BROWSER)),$(BROWSER_TESTS))

# One process of tests for each core: half of the time they wait for a disk, a child or a timer. tests/conftest.py says
# which tests stay together. More than four would want more memory than a small machine has.
SPREAD := -n $(WORKERS) --maxprocesses 4 --dist loadscope --no-loadscope-reorder

.PHONY: help demo test test-hub lint types format docs wheel screenshots soak mutants bench test-pythons lock clean

help:  ## list these commands
	@awk 'BEGIN {FS = ":.*## "; print "zipfian: make COMMAND\n"} \
	     /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(READY)  ## search texts by meaning and pictures by example, and see why; SERVE=0: no page at the end
	@serve=; [ "$(SERVE)" = 0 ] || [ ! -t 0 ] || [ ! -t 1 ] || serve=--serve; exec $(BIN)/zipfian demo $$serve $(ARGS)

test: $(READY)  ## lint, format, types and all tests; WORKERS=0: one by one; WITH_CLUSTER=no, WITH_BROWSER=no leave some out, =must insists
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy --strict
	@[ "$(WITH_BROWSER)" = no ] || sh tools/chromium.sh
	ZIPFIAN_MUST="$(MUST)" \
	  $(BIN)/python -m pytest $(SPREAD) $(patsubst %,--ignore=%,$(LEAVE_OUT)) $(ARGS)
	@[ "$(WITH_CLUSTER)" != no ] || echo "LEFT OUT: $(CLUSTER_TESTS): WITH_CLUSTER=no" >&2
	@[ "$(WITH_BROWSER)" != no ] || echo "LEFT OUT: $(BROWSER_TESTS): WITH_BROWSER=no" >&2
	@$(MAKE) --no-print-directory test-hub

test-hub: $(READY)  ## training and hub tests, with torch; WITH_HUB=no leaves them out, =must insists
	@if [ "$(WITH_HUB)" != no ] && $(MAKE) --no-print-directory $(HUB_READY); then \
	  ZIPFIAN_MUST="$(if $(filter must,$(WITH_HUB)),tests/train tests/device tests/encode/hub)" \
	    $(HUB)/bin/python -m pytest $(HUB_TESTS) $(ARGS) || [ $$? -eq 5 -a "$(WITH_HUB)" != must ]; \
	elif [ "$(WITH_HUB)" = must ]; then \
	  echo "WITH_HUB=must, and $(HUB_TESTS) were left out: no environment with torch could be made in $(HUB);" >&2; \
	  echo "it needs 4.4 GB of disk and a package index that has what requirements-hub.lock names" >&2; exit 1; \
	else \
	  echo "LEFT OUT: $(HUB_TESTS): no environment with torch ($(HUB))" >&2; \
	fi

lint: $(READY)  ## ruff: rules and format
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

types: $(READY)  ## mypy, strict
	$(BIN)/mypy --strict

format: $(READY)  ## rewrite the code in the project's format
	$(BIN)/ruff check --fix-only $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

docs: $(READY)  ## the guides and the reference as one site, in build/site
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

wheel: $(READY)  ## build the wheel into dist, and try it in an empty environment
	$(BIN)/python -m hatchling build --target wheel
	$(BIN)/python -m pytest tests/test_packaging.py $(ARGS)

screenshots: $(READY)  ## pictures of every view of the page, in docs/img; needs Chromium
	@sh tools/chromium.sh
	$(BIN)/python -m tests.page.screenshots $(ARGS)

soak: $(READY)  ## the crash and damage tests with many more rounds
	ZIPFIAN_SOAK=1 $(BIN)/python -m pytest tests/reliability $(ARGS)

mutants: $(READY)  ## make mistakes in a copy of the sources and see whether the tests notice; ARGS="--only fuse"
	$(BIN)/python -m tests.mutants $(ARGS)

bench: $(READY)  ## the project's own benchmarks
	@test -d benchmarks || { echo "make bench: this checkout has no benchmarks/ folder" >&2; exit 1; }
	$(BIN)/python -m benchmarks $(ARGS)

test-pythons: pyproject.toml requirements.lock  ## the quick tests on every other Python of this machine
	@sh tools/test_pythons.sh $(ARGS)

lock: pyproject.toml  ## write requirements.lock anew from pyproject.toml
	@sh tools/lock.sh

clean:  ## remove environments, caches and build products
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests experiments -type d -name __pycache__ -prune -exec rm -rf {} +

# The stamp makes a second run instant; a change of pyproject.toml or the lock does this again. uv comes first: it fetches
# and unpacks the rest several times faster than pip, and shows how far it is. Where it fails, pip does it.
$(READY): pyproject.toml requirements.lock
	@set -e; \
	if [ -d $(VENV) ] && ! $(BIN)/python -c '$(USABLE)' >/dev/null 2>&1; then \
	  echo "$(VENV): its Python no longer runs, making it anew"; rm -rf $(VENV); \
	fi; \
	if [ ! -d $(VENV) ]; then \
	  found=; \
	  for p in $(or $(PYTHON),$(CANDIDATES)); do \
	    if "$$p" -c '$(USABLE)' </dev/null >/dev/null 2>&1; then found=$$p; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "no usable Python among: $(or $(PYTHON),$(CANDIDATES))" >&2; \
	    echo "zipfian needs Python 3.11 to 3.14 with the venv module (Debian, Ubuntu: apt-get install python3-venv);" >&2; \
	    echo "name another one with: make PYTHON=/path/to/python3" >&2; exit 1; \
	  fi; \
	  echo "making $(VENV) with $$("$$found" --version) (once; a minute or two)"; \
	  "$$found" -m venv $(VENV); \
	fi; \
	awk '/^uv==/ {on = 1} on {print; if (!/\\$$/) exit}' requirements.lock > $(VENV)/uv.txt; \
	if $(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r $(VENV)/uv.txt \
	  && $(BIN)/uv pip install --python $(BIN)/python --compile-bytecode --require-hashes --only-binary :all: \
	    -r requirements.lock; \
	then :; else \
	  echo "fetching $$(grep -c '^[a-z].*==' requirements.lock) packages with pip, which says nothing meanwhile"; \
	  $(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements.lock; \
	fi; \
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .; \
	touch $@

# torch and the hub's libraries, without the CUDA packages that nothing here loads: 4.4 GB instead of 6.3.
$(HUB_READY): pyproject.toml requirements-hub.lock
	@set -e; \
	if [ -d $(HUB) ] && ! $(HUB)/bin/python -c '$(USABLE)' >/dev/null 2>&1; then rm -rf $(HUB); fi; \
	if [ ! -d $(HUB) ]; then \
	  echo "making $(HUB) for the torch tests (once; some minutes, 4.4 GB)"; $(BIN)/python -m venv $(HUB); \
	fi; \
	$(BIN)/uv pip install --quiet --python $(HUB)/bin/python --no-deps --require-hashes --only-binary :all: \
	    -r requirements-hub.lock \
	  || $(HUB)/bin/python -m pip install --quiet --no-deps --require-hashes --only-binary :all: \
	    -r requirements-hub.lock \
	  || { rm -rf $(HUB); exit 1; }; \
	$(HUB)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .; \
	$(HUB)/bin/python -c 'import torch, transformers, open_clip'; \
	touch $@
