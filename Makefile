# setup check test long demo do the work; bench, soak and calibrate-author measure; lock renews the pins. Each does the set-up it needs, inside this folder.
PYTHON ?= python3
PY := .venv/bin/python
AREA ?=
ARGS ?=
IMAGE ?= envmill
BASE ?= python:$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)-slim-bookworm

# Random failures fall elsewhere with every commit, and where they fell can be had again.
export ENVMILL_SEED ?= $(shell git rev-parse --short HEAD 2>/dev/null)

# A caller's own Python settings would put other packages before ours, or make every process compile Prefect anew.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup check test long demo bench soak audit calibrate-author docs image base lock FORCE

help:
	@echo "make setup                 the virtual environment, from requirements.lock"
	@echo "make check                 format, lint, types, architecture"
	@echo "make test  [ARGS=...]      the tests, in minutes, without those of make check; ARGS goes to pytest"
	@echo "make long  [ARGS=...]      tests that take long: whole runs, kills, and cases that make test left out"
	@echo "make demo  [ARGS=--keep]   a finished run on a server of its own, with no key"
	@echo "make bench [AREA=...]      measurements against their targets"
	@echo "make soak  [AREA=...]      failure scenarios at full count"
	@echo "make audit                 what is installed, beside the lock's versions and hashes; known weaknesses where pip-audit is"
	@echo "make calibrate-author MODEL=...   what becomes of a model's work: 20 environments, 60 scenarios"
	@echo "make docs                  renew the pages that are written from the code"
	@echo "make image [BASE=...]      a container image; BASE is an image with the Python of PYTHON"
	@echo "make base                  the image envmill/base, made with debootstrap: for BASE where no registry is"
	@echo "make lock                  pin the newest versions that pyproject.toml allows"

setup: .stamps/complete

# The stamp holds this folder's path: a folder that was moved or copied, or has lost its environment, is set up anew.
ifneq "$(shell cat .stamps/venv 2>/dev/null; test -x $(PY) || echo gone)" "$(CURDIR)"
.stamps/venv: FORCE
endif

.stamps/venv:
	@command -v "$(PYTHON)" >/dev/null || { echo "No '$(PYTHON)' here. Install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "'$(PYTHON)' is $$("$(PYTHON)" --version 2>&1); EnvMill needs 3.11 or newer: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' has no venv module. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@rm -rf .venv .stamps && mkdir .stamps
	@"$(PYTHON)" -m venv .venv
	@pwd -P > $@

# The locked pip comes first: the one that venv brings unpacks at half the speed. --no-deps: the lock is complete, `pip check` proves it.
# --no-compile: bytecode is written when a module is first used, which halves the time again.
.stamps/installed: .stamps/venv requirements.lock pyproject.toml
	@echo "Installing requirements.lock into .venv (about a minute)"
	@sed -n '/^pip==/,/# via/p' requirements.lock > .stamps/pip.txt
	@$(PY) -m pip install -qq --no-deps --require-hashes -r .stamps/pip.txt
	@$(PY) -m pip install -qq --no-deps --no-compile --require-hashes -r requirements.lock
	@$(PY) -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

.stamps/complete: .stamps/installed
	@$(PY) -m pip check >/dev/null || { $(PY) -m pip check >&2; echo "requirements.lock lacks what pyproject.toml or this Python needs: make lock" >&2; exit 1; }
	@touch $@

check: setup
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m pyright --pythonpath $(PY)
	@$(PY) -m pytest -q tests/architecture

# Marks are chosen before ARGS, so that ARGS may choose others: make test ARGS="-m '' tests/lake" runs all of a folder.
test: CHOSEN := not long and not checked
long: CHOSEN := long
test long: setup
	@$(PY) -m pytest -n 4 --dist loadscope --no-loadscope-reorder -o cache_dir=.stamps/tests --cache-clear -m "$(CHOSEN)" $(ARGS) || $(PY) -m tests.again $$? .stamps/tests

demo: setup
	@$(PY) -m flows.cli demo $(ARGS)

bench: setup
	@$(PY) -m tests.bench $(AREA)

soak: setup
	@ENVMILL_SOAK=1 $(PY) -m pytest -m "soak$(if $(AREA),(area='$(AREA)'))" $(ARGS) || { code=$$?; [ $$code -ne 5 ] || echo "No soak test$(if $(AREA), for area '$(AREA)')." >&2; exit $$code; }

# pip-audit asks a database of advisories, which a machine with a package index alone does not reach; so it is not locked.
audit: setup
	@$(PY) -m tests.installed && echo "Everything that is installed is as requirements.lock has it."
	@if command -v pip-audit >/dev/null; then pip-audit --require-hashes --disable-pip --requirement requirements.lock; \
	else echo "No pip-audit here: nobody asked whether weaknesses of these versions are known."; fi

calibrate-author: setup
	@[ -n "$(MODEL)" ] || { echo "Name the author: make calibrate-author MODEL=openai:my-model@my_server" >&2; exit 2; }
	@$(PY) -m tests.authors all $(or $(FOLDER),data/authors) --model $(MODEL) $(foreach reader,$(READERS),--reader $(reader)) \
		$(if $(JUDGE),--judge $(JUDGE)) $(if $(POLICY),--policy $(POLICY)) $(if $(HASTY),--hasty $(HASTY))

docs: setup
	@$(PY) -m schemas.reference > docs/tables.md
	@$(PY) -m tests.lake.views.pages
	@$(PY) -m tests.gates.pages
	@$(PY) -m tests.gates.reading
	@$(PY) -m tests.authors.publishing
	@$(PY) -m tests.architecture.picture
	@$(PY) -m tests.scale.picture
	@$(PY) -m tests.cli.pages > docs/cli.md
	@$(PY) -m quality.reference > docs/quality.md

# Packages are fetched and checked here, by whatever index this machine is set to; the build itself has no network.
image: .wheels/complete
	@docker build --network none --force-rm --build-arg BASE="$(BASE)" --tag "$(IMAGE)" .

.wheels/complete: requirements.lock
	@"$(PYTHON)" -m pip --version >/dev/null 2>&1 || { echo "'$(PYTHON)' has no pip. After make setup: make image PYTHON=.venv/bin/python" >&2; exit 1; }
	@rm -rf .wheels
	@"$(PYTHON)" -m pip download -qq --no-deps --only-binary=:all: --require-hashes --requirement requirements.lock --dest .wheels
	@touch $@

# A minute, as root: Debian with Python, from Debian's packages alone.
base:
	@command -v debootstrap >/dev/null || { echo "No debootstrap here. On Debian or Ubuntu: apt-get install debootstrap" >&2; exit 1; }
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	{ debootstrap --variant=minbase --include=python3,ca-certificates bookworm "$$folder/root" >"$$folder/log" 2>&1 || { tail -n 20 "$$folder/log" >&2; exit 1; }; } && \
	rm -rf "$$folder"/root/var/cache/apt/* "$$folder"/root/var/lib/apt/lists/* && \
	tar -C "$$folder/root" -c . | docker import --change 'CMD ["/bin/bash"]' - envmill/base

lock: .stamps/installed
	@CUSTOM_COMPILE_COMMAND="make lock" $(PY) -m piptools compile --quiet --upgrade --extra dev --generate-hashes --strip-extras --allow-unsafe \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock pyproject.toml
