# Every target sets up what it needs: make demo shows the program, make check takes two minutes, make test everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One thread per process is fastest where every core has a process.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4
ALL := --dist loadfile --no-loadscope-reorder
# Nothing waits for the network: all models that these targets need are in the repository.
export HF_HUB_OFFLINE := 1

.PHONY: demo check test test-busy stress lint programs setup clean

demo: $(READY)
	$(BIN)/refdec paraphrase --top 3 \
		"The council did not approve the plan because it would cost more than \$$2 million." \
		"Is it hard to learn a new language?" \
		"How can I become a better writer?"
	$(BIN)/refdec infill --top 2 --seed 1 \
		"Nina went to her first football match on Saturday." "She cannot wait to go again."

# Daily work: no test that loads the embedded pair, starts processes or trains models.
check: lint
	$(PYTEST) --dist worksteal -m "not weights and not processes and not long"

test: lint programs
	$(PYTEST) $(ALL)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

# Pages are tested in Chromium, round trips by rules with Apertium. Where they are missing and may be installed, Debian's
# are; else their tests say how to get them.
APT := DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20
programs:
	@{ command -v chromium && command -v apertium; } > /dev/null || ! command -v apt-get > /dev/null || \
		test "$$(id -u)" != 0 || { $(APT) update; \
		for program in chromium "apertium apertium-eng-spa"; do \
		$(APT) install --yes --no-install-recommends $$program; done; } > /dev/null 2>&1 || true

# All tests three times, while other processes keep every core busy.
test-busy: $(READY) programs
	for core in $$(seq $$(getconf _NPROCESSORS_ONLN)); do yes > /dev/null & busy="$$busy $$!"; done; \
	trap "kill $$busy" EXIT; for round in 1 2 3; do $(PYTEST) $(ALL) || exit 1; done

# Takes hours: long forms of tests that kill runs, fill memory or draw examples; make test has a short form of each.
stress: test-busy
	$(BIN)/python -m tests.kills --rows 2000 --kills 20
	$(BIN)/python -m tests.kills --rows 2000 --kills 20 --engine ray
	$(BIN)/python -m benchmarks.batch engines --rows 600
	$(BIN)/python -m benchmarks.batch memory --rows 1000000
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.serve_load --seconds 180
	$(PYTEST) --dist worksteal -m hypothesis --hypothesis-profile thorough

.PHONY: docs
docs: $(READY)  # make docs PAGE=README.md makes one page
	$(BIN)/python -m docs.make $(PAGE)

setup: $(READY)

$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard src/refdec/lm/native/*.cpp src/refdec/lm/native/*.py)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "refdec needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@echo "Setting up in $(VENV); this takes a minute or two."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist outputs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
