# make test   everything: lint, types, tests (installs into .venv first)
# make demo   the main job on a fresh machine: a real client against the fake, with a verdict
# make matrix real clients and gateways, judged and published; one of them: make matrix CLIENT=openai-python
# make lock   install the newest that the requirements of the matrix allow, and write every version down
# make gateways  the gateways of the matrix alone
# make selftest  the kill matrix: what each mutant client, gateway and server is caught by
# make golden-vllm VERSION=0.32.0  capture a real vLLM's answers anew and compare the fake with them; MODEL=folder runs a
#             real engine. Makes its own environment in .golden/: 4 GB and about 4 minutes the first time, then 6 to 8
# make golden-sglang VERSION=0.5.23  put made-up requests to a real SGLang front end (a scripted scheduler behind it), the
#             answers into .golden/golden/, and compare the fake with them; the environment is made as above
# make docs   the manual as a site in site/, every link checked
# make lint   ruff and pyright alone        make bench  what answers cost, beside other mock servers
# make soak   ten minutes of hostile input against everything that reads; SOAK_SECONDS=60 for one
# make audit  known holes in what is installed

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
DEMO := .demo/venv
PYTEST_ARGS ?= -n auto

.PHONY: test demo lint types unit bench soak audit fidelity matrix lock golden-vllm golden-sglang docs clean
.DEFAULT_GOAL := test

test: lint types unit

$(VENV)/.installed: pyproject.toml hatch_build.py
	@test -n "$(PYTHON)" || { echo "fakellm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

selftest: $(VENV)/.installed
	$(BIN)/python -m fakellm.conform.mutants.matrix
	$(BIN)/python -m pytest -q tests/selftest -k "reference or benign or killed or its_set"

fidelity: $(VENV)/.installed
	$(BIN)/fakellm fidelity

bench: $(VENV)/.installed
	PYTHONPATH=tools $(BIN)/python -m bench $(BENCH_ARGS)

SOAK := .soak/venv

$(SOAK)/.installed:
	test -x $(SOAK)/bin/python || $(PYTHON) -m venv $(SOAK)
	$(SOAK)/bin/python -m pip install --quiet 'schemathesis>=4,<5'
	touch $@

soak: $(VENV)/.installed $(SOAK)/.installed
	PYTHONPATH=tools $(BIN)/python -m soak $(SOAK_ARGS)

audit: $(VENV)/.installed
	test -x .audit/bin/pip-audit || { $(PYTHON) -m venv .audit && .audit/bin/python -m pip install --quiet pip-audit; }
	$(BIN)/python -m pip freeze --exclude-editable > .audit/installed.txt
	PYTHONPATH=tools $(BIN)/python -m audit .audit/bin/pip-audit --requirement .audit/installed.txt

matrix: $(VENV)/.installed
	PYTHONPATH=tools $(BIN)/python -m matrix $(MATRIX_ARGS) $(CLIENT)

lock: $(VENV)/.installed
	PYTHONPATH=tools $(BIN)/python -m matrix --lock $(CLIENT)

gateways:
	$(MAKE) matrix CLIENT="$(patsubst conformance/gateways/%/gateway.yaml,%,$(wildcard conformance/gateways/*/gateway.yaml))"
	$(BIN)/pytest tests/integration/test_routers.py

golden-vllm: $(VENV)/.installed
	@test -n "$(VERSION)" || { PYTHONPATH=tools $(BIN)/python -m golden_vllm --help >&2; exit 1; }
	PYTHONPATH=tools $(BIN)/python -m golden_vllm $(VERSION) $(if $(MODEL),--model $(MODEL)) $(GOLDEN_ARGS)

golden-sglang: $(VENV)/.installed
	@test -n "$(VERSION)" || { PYTHONPATH=tools $(BIN)/python -m golden_sglang --help >&2; exit 1; }
	PYTHONPATH=tools $(BIN)/python -m golden_sglang $(VERSION) $(GOLDEN_ARGS)

$(DEMO)/.installed: pyproject.toml hatch_build.py conformance/adapters/openai-python/requirements.txt
	@test -n "$(PYTHON)" || { echo "fakellm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(DEMO)/bin/python || $(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet . --requirement conformance/adapters/openai-python/requirements.txt
	touch $@

DOCS := .docs/venv

$(DOCS)/.installed: docs/requirements.txt
	@test -n "$(PYTHON)" || { echo "fakellm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --requirement docs/requirements.txt
	touch $@

docs: $(VENV)/.installed $(DOCS)/.installed
	$(BIN)/python tools/doc_pages.py
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet

demo: $(DEMO)/.installed
	conformance/demo.sh $(DEMO)/bin

clean:
	rm -rf $(VENV) .demo .audit .bench .soak .docs site docs/reference docs/generated report dist .pytest_cache .ruff_cache .hypothesis
