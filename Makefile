# The dev loop. Every target sets up what it needs: a virtual environment in .venv (VENV=... for another place).
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
DEMO_EXTRAS = train,metric,generate
TEST_EXTRAS = train,metric,generate,retrieval,dense,rl,text,spark,spacy,demo,inspect,dev

.PHONY: demo test check all bench clean
all: check test

$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q -c constraints.txt torch
	$(PIP) install -q -c constraints.txt -e ".[$(DEMO_EXTRAS)]"
	touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) install -q -c constraints.txt -e ".[$(TEST_EXTRAS)]"
	touch $@

demo: $(VENV)/.demo  ## train on a fictional world on the CPU and print the scores
	ACCELERATE_USE_CPU=true $(BIN)/accelerate launch --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no -m twowiki.train --config tiny --overwrite_output_dir

test: $(VENV)/.test  ## every test that needs no GPU, on all cores
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile -m "not gpu"

check: $(VENV)/.test  ## format, lint, types, quick tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n logical --maxprocesses 4 --dist loadfile -m "not slow and not spark and not gpu"

bench: $(VENV)/.test  ## ratios against what a user would run instead
	for b in bench/bench_*.py; do $(BIN)/python $$b || exit 1; done

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
