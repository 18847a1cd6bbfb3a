# Everything runs in a virtual environment of the repository, from pinned packages, without root.
# Needs: python3 (3.10 or newer) and make. `make` alone lists the targets.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SOURCES := decoder pipeline pyspark_binlog binlake dags demo benchmarks tests

# Downloads and results that can be deleted: Delta's jars, compiled kernels, MySQL's programs, the demo's lake.
export BINLAKE_CACHE := $(CURDIR)/.cache/binlake

# Without bytecode on disk, pytest rewrites each module's asserts at each start, and each process that a test
# starts compiles Binlake's sources.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
SECONDS ?= 120
SEED ?= 1
COUNT ?= 100

.PHONY: help demo airflow test test-long lint types format docs fuzz bench bench-gold bench-small bench-latency bench-peers bench-scaling bench-capture bench-seed bench-verify bench-source bench-suite mutants bench-debezium soak soak-sizes soak-sync soak-histories wheel lock setup clean distclean

# Lists the targets by the groups that `##@` names; a description has 62 characters, so that a line has 80.
help:
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-14s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ First

demo: $(READY)  ## replicate a small shop's recorded binlogs, and show the tables
	@$(BIN)/python -m demo.run

airflow: $(READY)  ## start a local Airflow with Binlake's DAGs and that shop
	@$(BIN)/python -m demo.in_airflow

setup: $(READY)  ## install everything into .venv, and run nothing

wheel: $(READY)  ## build dist/binlake-….whl, for spark-submit and Databricks
	rm -f dist/*.whl
	$(BIN)/python -m hatchling build --target wheel --directory dist

PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

test: $(READY)  ## run the tests against real servers (ARGS="-k name" for some)
	$(PYTEST) $(ARGS)

##@ Work on Binlake

lint: $(READY)  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## fix style and formatting where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## check types, strictly
	$(BIN)/mypy

docs: $(READY)  ## build the documentation into build/site, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Open build/site/index.html"

test-long: $(READY)  ## run the slow tests: kills, clusters, Airflow, … (an hour)
	$(PYTEST) -m long $(ARGS)

fuzz: $(READY)  ## look for bytes that break the decoder (30 minutes; SECONDS=…)
	$(BIN)/python -m tests.fuzz.run $(SECONDS) $(ARGS)

mutants: $(READY)  ## break the code in many places: tests must fail (10 minutes)
	$(BIN)/python -m benchmarks.mutants $(ARGS)

soak: soak-sizes soak-histories  ## run both of these (hours)

soak-sizes: $(READY)  ## a 3 GB file and a 500 MB transaction, with a 2 GB heap
	$(BIN)/python -m benchmarks.soak

soak-sync: $(READY)  ## an hour of bench-latency: memory stays flat, gold is equal
	$(BIN)/python -m benchmarks.latency --seconds 3600 $(ARGS)

soak-histories: $(READY)  ## random histories of a real server (COUNT=… SEED=…)
	$(BIN)/python -m benchmarks.histories --seed $(SEED) --count $(COUNT) $(ARGS)

RESOLVE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.10 \
  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
  --upgrade --quiet

lock: $(READY)  ## resolve both requirements files again, to newest versions
	$(BIN)/python -m pip install --quiet uv
	$(RESOLVE) --extra dev --output-file requirements.lock
	$(RESOLVE) --extra airflow --constraint requirements.lock \
	  --output-file requirements-airflow.lock

##@ Benchmarks

# ARGS are those of the programs: "--rows 1000000" of bench-gold, -seed and -verify, "3" rounds of bench-small,
# "bytes" of bench-scaling (20 minutes in all), "--rounds 3" of bench-capture.

bench: $(READY)  ## time the decoder, and files to gold, on a recorded workload
	$(BIN)/python -m benchmarks.decode
	$(BIN)/python -m benchmarks.end_to_end

bench-gold: $(READY)  ## a table of 20 million rows, and 100 tables in one run
	$(BIN)/python -m benchmarks.gold $(ARGS)

bench-small: $(READY)  ## a run with few changes, against plain MERGEs of them
	$(BIN)/python -m benchmarks.small_run $(ARGS)

bench-latency: $(READY)  ## commit to gold, by a sync beside a busy server (20 minutes)
	$(BIN)/python -m benchmarks.latency $(ARGS)

bench-scaling: $(READY)  ## how each layer grows with bytes, files and tasks
	$(BIN)/python -m benchmarks.scaling $(ARGS)

bench-peers: $(READY)  ## the decoder against others, built at pinned versions
	$(BIN)/python -m benchmarks.peers $(ARGS)

bench-capture: $(READY)  ## capture against mysqlbinlog --raw, from the same server
	$(BIN)/python -m benchmarks.capture $(ARGS)

bench-seed: $(READY)  ## seed against Spark's JDBC source, which only reads
	$(BIN)/python -m benchmarks.seed $(ARGS)

bench-verify: $(READY)  ## verify a table against a real server, equal and not
	$(BIN)/python -m benchmarks.verify $(ARGS)

bench-source: $(READY)  ## Spark's format binlog against mapInArrow
	$(BIN)/python -m benchmarks.dataframe_source $(ARGS)

bench-suite: $(READY)  ## time the tests, and write the result to docs
	$(BIN)/python -m benchmarks.suite $(ARGS)

bench-debezium: $(READY)  ## files to gold against Debezium (two hours, 45 GB of disk)
	$(BIN)/python -m benchmarks.debezium $(ARGS)

##@ Clean up

clean:  ## delete the demo's lake and the tools' caches, no downloads
	rm -rf .cache/demo-lake .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

distclean: clean  ## delete the virtual environment and all downloads, too
	rm -rf $(VENV) .cache

$(READY): requirements.lock requirements-airflow.lock pyproject.toml .ci/venv
	@echo "Bringing $(VENV) up to date with the requirements: seconds, or minutes with downloads …" >&2
	@.ci/venv $(VENV)
	@touch $@
