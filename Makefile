# make serve   build everything on a fresh machine (Python 3.11+, Node 20+, make) and open the site on this machine
# make test    everything that CI runs
# make bench   measure the start, the answer time and the bytes; writes build/bench.json
# make lighthouse   Lighthouse on every page; writes build/lighthouse.json

PYTHON3 ?= python3
PYTHON := .venv/bin/python
PORT ?= 8000

.PHONY: serve build test lint bench lighthouse clean

serve: build
	$(PYTHON) tools/site_server.py --port $(PORT)

build: .venv/ready node_modules/ready
	$(PYTHON) build.py

test: lint build
	$(PYTHON) -m pytest

lint: .venv/ready
	$(PYTHON) -m ruff check --no-cache .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

bench: build
	$(PYTHON) -m tools.bench

lighthouse: build
	PYTHONPATH=assets/py $(PYTHON) -m tools.lighthouse

clean:
	rm -rf dist build .venv node_modules

.venv/ready: requirements-dev.txt
	$(PYTHON3) -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

node_modules/ready: package-lock.json .npmrc
	npm ci
	touch $@
