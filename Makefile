# Two commands do everything, set-up included: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test setup clean

demo: $(READY)
	HF_HUB_OFFLINE=1 $(BIN)/refdec paraphrase --top 3 \
		"What is the best way to learn to cook?" \
		"What should I do if I forgot my password?" \
		"How can I become a better writer?"
	HF_HUB_OFFLINE=1 $(BIN)/refdec infill --top 2 \
		"Nina went to her first football match on Saturday." "She cannot wait to go again."

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: docs
docs: $(READY)  # make docs PAGE=README.md makes one page
	$(BIN)/python -m docs.make $(PAGE)

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "refdec needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@echo "Setting up in $(VENV); this takes a minute or two."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist outputs .mypy_cache .ruff_cache .pytest_cache .hypothesis
