# `make help` lists the targets. Everything is installed into .venv and nowhere else.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Neither this machine's host name nor a SPARK_HOME that points at another Spark may matter.
export SPARK_LOCAL_IP ?= 127.0.0.1
export PYSPARK_PYTHON := $(abspath $(BIN)/python)
unexport SPARK_HOME

SUITE ?= imci-micro
SF ?= 1
RUNS ?= 5
MODES ?= off,rtfilter,duckdb
BENCH_ARGS ?=
N ?= 1000
SEED ?= 1
FUZZ ?= differential kinds star_tree_answers
PYTEST_ARGS ?=
JAR ?= dist/rtfilter-spark.jar

.PHONY: help
help: ## this list
	@echo "usage: make TARGET [VARIABLE=value ...]"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "Needs Python 3.11+ (PYTHON=$(PYTHON)) and Java 17+ (JAVA_HOME or PATH); everything else goes into $(VENV)."

.PHONY: demo
demo: $(VENV)/.with-bench ## show in about a minute what is gained and what not, leave out/demo/report.html
	@.ci/need java
	$(BIN)/rtfilter demo --out out/demo

.PHONY: check
check: $(VENV)/.with-dev lint ## lint, types and all tests that need no JVM, with a tenth of the generated cases; a minute, and prints the slowest tests
	RTFILTER_CASES_SHARE=0.1 $(BIN)/pytest -n 2 --dist worksteal --durations=15 -m "not jvm" tests --ignore=tests/spark $(PYTEST_ARGS)

.PHONY: test
test: $(VENV)/.with-dev lint ## lint, types and all tests; PYTEST_ARGS="tests/report -k html" runs a part of the tests
	@.ci/need java
	$(BIN)/python tests/run_all.py $(PYTEST_ARGS)

.PHONY: bench-smoke
bench-smoke: $(VENV)/.with-dev ## a few queries of every suite in every mode at scale factor 0.01; a part of `make test`
	@.ci/need java
	$(BIN)/pytest tests/spark/suites $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.with-dev ## generated queries with the layer on and off: N=1000 from SEED=1 on, FUZZ=kinds for one of them (docs/generated-queries.md)
	@.ci/need java
	for each in $(FUZZ); do \
		RTFILTER_FUZZ_CASES=$(N) RTFILTER_FUZZ_SEED=$(SEED) $(BIN)/pytest -s tests/spark/$$each $(PYTEST_ARGS); \
	done

.PHONY: lint
lint: $(VENV)/.with-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: golden
golden: $(VENV)/.with-dev ## write the golden files of the tests anew; read their diff before you commit it
	$(BIN)/pytest tests --ignore=tests/spark --update-golden
	git --no-pager diff --stat -- tests

.PHONY: bench
bench: $(VENV)/.with-bench ## run a benchmark: SUITE=imci-micro SF=1 RUNS=5 MODES=off,rtfilter,duckdb BENCH_ARGS="--layout shuffled"
	@.ci/need java
	$(BIN)/rtfilter bench --suite $(SUITE) --sf $(SF) --runs $(RUNS) --modes $(MODES) --out out/$(SUITE)-sf$(SF) $(BENCH_ARGS)

.PHONY: docs
docs: $(VENV)/.with-dev ## write docs/options.md anew from the option table
	$(BIN)/python -m rtfilter.docs

.PHONY: site
site: $(VENV)/.with-docs ## make the pages of docs/ into build/site; a link to something that is not there is an error
	$(BIN)/python -m sphinx -b html -q -W --keep-going docs build/site
	@echo "The first page: $(CURDIR)/build/site/index.html"

.PHONY: jar
jar: $(VENV)/.with-bench ## compile the Spark side into dist/rtfilter-spark.jar (JAR=FILE), for images and read-only machines
	@.ci/need java
	@mkdir -p $(dir $(JAR))
	$(BIN)/rtfilter build-jar --out $(JAR)

# A stamp per extra: the second run of a target installs nothing until pyproject.toml changes.
$(BIN)/python:
	@.ci/need python $(PYTHON)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.with-%: pyproject.toml | $(BIN)/python
	@echo "installing rtfilter[$*] into $(VENV); Spark alone is 450 MB, so the first time takes minutes"
	@$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@# The Spark side is compiled with the install; without Java that is told by the target that needs it.
	@! .ci/need java 2>/dev/null || $(BIN)/python -c "from rtfilter.bridge.jar import ensure_jar; ensure_jar()"
	@touch $@
