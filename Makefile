# Compile Lens. Every target does its own set-up; a second run skips what is done.
#   make run     set up, then the main job on examples/ in the terminal
#   make test    set up, then all tests
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help setup run test test-server test-probe test-npu test-extension test-e2e check vscode bench soak docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .cache/stamps
E2E_STAMP := tests/e2e/node_modules/.ready
export npm_config_audit = false
export npm_config_fund = false
export npm_config_update_notifier = false
export PIP_DISABLE_PIP_VERSION_CHECK = 1

help:
	@sed -n 's/^#  *//p' Makefile; echo "make check | vscode | bench | soak | docs | test-server | test-probe | test-npu | test-extension | test-e2e"

# --- set-up ------------------------------------------------------------------------------------------------------

setup: $(STAMPS)/python $(STAMPS)/extension

$(STAMPS)/venv:
	@mkdir -p $(STAMPS)
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing: install Python 3.10 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "make: $(PYTHON) is older than 3.10: run make PYTHON=/path/to/a/newer/python3"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
		|| { echo "make: $(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)"; exit 1; }
	@test -x $(BIN)/python || { echo "set-up: creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

$(STAMPS)/python: $(STAMPS)/venv requirements/dev.txt requirements/truth.txt pyproject.toml
	@echo "set-up: installing torch and the Python tools into $(VENV) (minutes the first time)"
	@$(BIN)/python -m pip install -qq -r requirements/truth.txt -r requirements/dev.txt
	@$(BIN)/python -m pip install -qq --no-deps --editable .
	@touch $@

$(STAMPS)/extension: package.json package-lock.json
	@mkdir -p $(STAMPS)
	@command -v npm >/dev/null || { echo "make: npm is missing: install node 20 or newer"; exit 1; }
	@echo "set-up: installing the extension's build tools"
	@npm ci --ignore-scripts --loglevel=error
	@touch $@

$(E2E_STAMP): tests/e2e/setup.sh tests/e2e/package.json tests/e2e/package-lock.json
	@bash tests/e2e/setup.sh
	@touch $@

# --- the main job ------------------------------------------------------------------------------------------------

run: $(STAMPS)/python
	@echo "== Where Dynamo will break the examples (compile-lens check examples)"
	@$(BIN)/compile-lens check examples || test $$? -eq 1
	@for target in clean.py::GatedNorm breaks.py::Denoiser transformer.py::Block; do \
		echo; echo "== What compiling is worth (compile-lens probe examples/$$target)"; \
		$(BIN)/compile-lens probe examples/$$target; \
	done

vscode: setup $(E2E_STAMP)
	@npm run --silent package -- --only-current
	@node extension/scripts/serve.mjs

# --- tests and checks --------------------------------------------------------------------------------------------

test: test-server test-probe test-npu test-extension test-e2e

test-server: $(STAMPS)/python
	@$(BIN)/python -m pytest tests/server tests/accuracy

test-probe: $(STAMPS)/python
	@$(BIN)/python -m pytest tests/probe

# torch_npu as it is released, over a stand-in driver that is built from tests/npu/driver (Linux, needs gcc)
test-npu: $(STAMPS)/python
	@$(PYTHON) tests/npu/environment.py -- -m pytest -q tests/npu

test-extension: setup $(E2E_STAMP)
	@npm run test:extension

test-e2e: setup $(E2E_STAMP)
	@npm run test:e2e

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/python -m pytest -q tests/server/test_imports.py
	@npm run check

bench: $(STAMPS)/python
	@for script in $(filter-out benchmarks/soak.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

soak: $(STAMPS)/python
	@$(BIN)/python -m benchmarks.soak

docs: $(STAMPS)/python
	@$(BIN)/python tools/write_rule_pages.py

clean:
	rm -rf $(VENV) .cache node_modules dist bundled tests/e2e/node_modules
