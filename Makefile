# Everything runs in the repository's virtual environment, with pinned packages and without root.
# Requires python3 (3.10 or newer) and make. `make` without a target lists the targets.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SOURCES := decoder pipeline binlake dags demo benchmarks tests

# Files that can be downloaded or built again: Delta's jars, compiled kernels, MySQL's programs, the demo's lake.
export BINLAKE_CACHE := $(CURDIR)/.cache/binlake

# Without cached bytecode, pytest rewrites each module's asserts at each start, and each process that a test starts
# compiles Binlake's sources.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
SECONDS ?= 120
SEED ?= 1
COUNT ?= 100

.PHONY: help demo airflow test test-long lint types format docs fuzz bench bench-gold bench-small bench-peers bench-scaling bench-capture bench-seed bench-verify bench-suite mutants bench-debezium soak soak-sizes soak-histories wheel lock setup clean distclean

help:  ## list the targets
	@echo "make TARGET, where TARGET is one of"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -nE 's/^([a-z-]+):.*## (.*)/  \1: \2/p' $(MAKEFILE_LIST)

demo: $(READY)  ## run Binlake on recorded binlogs of a small shop, and show the gold tables
	@$(BIN)/python -m demo.run

airflow: $(READY)  ## start a standalone Airflow with the DAGs, and that shop as their source
	@$(BIN)/python -m demo.in_airflow

PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

test: $(READY)  ## run the tests, in three processes, against real servers (ARGS="-k name" for some)
	$(PYTEST) $(ARGS)

test-long: $(READY)  ## run those that take minutes each: runs killed at every commit, Airflow, clusters, … (an hour)
	$(PYTEST) -m long $(ARGS)

lint: $(READY)  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## mend what of style and formatting can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## check types, strictly
	$(BIN)/mypy

docs: $(READY)  ## build the documentation into build/site, strictly: broken links and references fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Open build/site/index.html"

fuzz: $(READY)  ## look for bytes that break the decoder (half an hour; SECONDS=… for each target)
	$(BIN)/python -m tests.fuzz.run $(SECONDS) $(ARGS)

bench: $(READY)  ## time the decoder, and files to gold, on a workload recorded from a real server
	$(BIN)/python -m benchmarks.decode
	$(BIN)/python -m benchmarks.end_to_end

bench-gold: $(READY)  ## time batches on a table of 20 million rows, and 100 tables in one run (ARGS="--rows 1000000")
	$(BIN)/python -m benchmarks.gold $(ARGS)

bench-small: $(READY)  ## time a run that brings few changes, against plain MERGEs of the same rows (ARGS="3" rounds)
	$(BIN)/python -m benchmarks.small_run $(ARGS)

bench-scaling: $(READY)  ## time how each layer grows with bytes, files, segments, tasks at once (20 minutes; ARGS="bytes")
	$(BIN)/python -m benchmarks.scaling $(ARGS)

bench-peers: $(READY)  ## time the decoder against others, built at pinned versions where their tools are
	$(BIN)/python -m benchmarks.peers $(ARGS)

bench-capture: $(READY)  ## time binlake capture against mysqlbinlog --raw, from the same server (ARGS="--rounds 3")
	$(BIN)/python -m benchmarks.capture $(ARGS)

bench-seed: $(READY)  ## read a table of a real server, against Spark's JDBC source that only reads (ARGS="--rows 1000000")
	$(BIN)/python -m benchmarks.seed $(ARGS)

bench-verify: $(READY)  ## compare a table of a real server with gold, equal and not (ARGS="--rows 1000000")
	$(BIN)/python -m benchmarks.verify $(ARGS)

bench-suite: $(READY)  ## time the tests, and write where the time goes to docs/contributing/testing.md
	$(BIN)/python -m benchmarks.suite $(ARGS)

mutants: $(READY)  ## break the product in one place after the other: tests must notice each (ten minutes)
	$(BIN)/python -m benchmarks.mutants $(ARGS)

bench-debezium: $(READY)  ## time files to gold against Debezium capturing the same load from the server (two hours, 45 GB of disk)
	$(BIN)/python -m benchmarks.debezium $(ARGS)

soak: soak-sizes soak-histories  ## both of what follows: hours

soak-sizes: $(READY)  ## a 3 GB file and a 500 MB transaction, with a 2 GB driver heap
	$(BIN)/python -m benchmarks.soak

soak-histories: $(READY)  ## hundreds of random histories of a real server (COUNT=… SEED=… ARGS=…)
	$(BIN)/python -m benchmarks.histories --seed $(SEED) --count $(COUNT) $(ARGS)

wheel: $(READY)  ## build dist/binlake-….whl, for spark-submit --py-files and for Databricks
	rm -f dist/*.whl
	$(BIN)/python -m hatchling build --target wheel --directory dist

RESOLVE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.10 \
  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
  --upgrade --quiet

lock: $(READY)  ## resolve requirements.lock, and Airflow's that agrees with it, anew
	$(BIN)/python -m pip install --quiet uv
	$(RESOLVE) --extra dev --output-file requirements.lock
	$(RESOLVE) --extra airflow --constraint requirements.lock \
	  --output-file requirements-airflow.lock

setup: $(READY)  ## only make the virtual environment

$(READY): requirements.lock requirements-airflow.lock pyproject.toml .ci/venv
	@.ci/venv $(VENV)
	@touch $@

clean:  ## delete the demo's lake and what the tools keep, but no downloads
	rm -rf .cache/demo-lake .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

distclean: clean  ## delete the virtual environment and every download too
	rm -rf $(VENV) .cache
