# fedbayes: every target explains itself with `make help`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m fedbayes.run
REPORT := $(BIN)/python -m fedbayes.report
READY := $(VENV)/.fedbayes-installed
# Options handed on to the experiments, for example: make reproduce-fedande OPTIONS="data_dir=DATA jobs=4"
OPTIONS ?=
PYTEST_OPTIONS ?= --numprocesses=auto --dist=loadfile

.DEFAULT_GOAL := help
.PHONY: help setup quickstart test lint format bench reproduce-fedande reproduce-governance reproduce-all report clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make the virtual environment and install the package with its development tools

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.11 to 3.13 is needed; name one with make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

quickstart: $(READY)  ## Train federated AnDE on two embedded data sets (no download of data)
	$(RUN) +experiment=quickstart $(OPTIONS)
	@echo "table:  results/quickstart/tables/accuracy.md"
	@echo "figure: results/quickstart/figures/figure_1.png"

test: $(READY)  ## Run the tests
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

lint: $(READY)  ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure speed, as ratios against named references in the same run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@for script in scripts/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

reproduce-fedande: $(READY)  ## Compute the FedAnDE grid and compare it with the published results
	$(RUN) +experiment=fedande $(OPTIONS); code=$$?; \
	  $(BIN)/python scripts/compare_published.py results/fedande results/published/fedande && exit $$code

reproduce-governance: $(READY)  ## Compute the governance grid and compare it with the published results
	$(RUN) +experiment=governance $(OPTIONS); code=$$?; \
	  $(BIN)/python scripts/compare_published.py results/governance results/published/governance && exit $$code

reproduce-all: $(READY)  ## Compute both grids
	$(MAKE) reproduce-fedande; first=$$?; $(MAKE) reproduce-governance && exit $$first

report: $(READY)  ## Write tables, figures and claims of the published results anew from their CSVs
	@for folder in results/published/*/; do $(REPORT) $$folder || exit 1; done

clean:  ## Remove the environment, caches and work under results/ (published results stay)
	@[ ! -e '$(VENV)' ] || [ -f '$(VENV)/pyvenv.cfg' ] || \
	  { echo "VENV=$(VENV) is not a virtual environment; nothing was removed"; exit 1; }
	rm -rf '$(VENV)' .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
	find results -mindepth 1 -maxdepth 1 -not -name published -not -name README.md -exec rm -rf {} +
