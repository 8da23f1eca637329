# The front door. Each target sets up what it needs; `make help` lists them.
PRESET ?= release
BUILD := build/$(PRESET)
PYTHON := .venv/bin/python
# Where the Python package of this build is.
PACKAGE := LENTO_BUILD=$(BUILD) PYTHONPATH=$(BUILD)/python
PYTEST_ARGS ?=
# Tests run on this device instead of the default one: make test DEVICE=toy.
DEVICE ?=
TEST_ON_DEVICE := @SAMPLE="$(SAMPLE)" DELAYS="$(DELAYS)" scripts/test-on-device $(PRESET) $(DEVICE)

.DEFAULT_GOAL := help
.PHONY: help setup build library package build-tests demo test test-cpp test-python test-peers test-programs test-array-api test-collisions test-isa test-fetch fuzz bits ulp bench bench-internal \
  lint check-includes format sanitize docs docs-charts docs-tables install wheel test-wheel clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | \
	  while IFS='	' read -r target text; do printf '  make %-16s %s\n' "$$target" "$$text"; done

setup: ## install missing system packages, make .venv
	@scripts/setup

build: setup ## build the library, the Python package, tests and benchmarks (PRESET=release|debug|constant-hash|asan|tsan)
	@scripts/build $(PRESET)

library: setup
	@scripts/build $(PRESET) library

package: setup ## build the library and the Python package alone
	@scripts/build $(PRESET) package

build-tests: setup
	@scripts/build $(PRESET) tests

demo: package ## train a digit reader and a small GPT, show what Lento does (half a minute, and a build the first time)
	@scripts/step "The demo (half a minute)" env $(PACKAGE) $(PYTHON) examples/demo.py --output build/demo

ifeq ($(DEVICE),)
test: test-cpp test-python ## run all tests (DEVICE=toy: those of what a user calls, on that device; SAMPLE=8: every 8th)

test-cpp: build-tests
	@scripts/step "C++ tests" ctest --preset $(PRESET) -j "$$(nproc)"

test-python: build-tests
	@scripts/step "Python tests" env $(PACKAGE) $(PYTHON) -m pytest tests -n auto -m "not peers" $(PYTEST_ARGS)
else
test: build-tests
	$(TEST_ON_DEVICE) all $(PYTEST_ARGS)

test-cpp: build-tests
	$(TEST_ON_DEVICE) cpp

test-python: build-tests
	$(TEST_ON_DEVICE) python $(PYTEST_ARGS)
endif

test-peers: package ## compare with PyTorch, try libraries that take arrays, in an environment of its own (large download)
	@scripts/setup-peers
	@$(PACKAGE) SCIPY_ARRAY_API=1 .venv-peers/bin/python -m pytest tests -n auto -m peers $(PYTEST_ARGS)

test-programs: package ## run public programs in FOLDER beside their ports (PROGRAMS="nanoGPT vae" for some; docs/programs.md)
	@LENTO_BUILD=$(BUILD) scripts/test-programs "$(FOLDER)" $(PROGRAMS)

test-array-api: package ## run the conformance suite of the Array API in FOLDER, a checkout that is no part of Lento (DEVICE=toy)
	@LENTO_TEST_DEVICE="$(DEVICE)" LENTO_BUILD=$(BUILD) scripts/array-api-tests $(or $(FOLDER),array-api-tests) $(PYTEST_ARGS)

test-collisions: setup ## run tests with a library in which all hashes are equal (ALL=1: all that can run there)
	@scripts/test-collisions $(if $(ALL),--all)

test-isa: setup ## run code for AVX2 alone and for ARM in an emulator, which this installs (SAMPLE=7: a part of it; ISA=avx2|arm: one of them)
	@scripts/test-isa $(or $(SAMPLE),1) $(ISA)

test-fetch: setup ## build examples/cpp-template with Lento as a part of it (FetchContent), and run it (minutes)
	@cmake -G Ninja -S examples/cpp-template -B build/fetched -DAPP_FETCH_LENTO=ON -DFETCHCONTENT_SOURCE_DIR_LENTO=$(CURDIR)
	@cmake --build build/fetched --target app
	@build/fetched/app

fuzz: setup ## run random programs and random graphs until stopped (or SECONDS=n), reduce the first that differs (FIRST=seed DEVICE=toy)
	@scripts/build $(PRESET) fuzz_test $(if $(DEVICE),toy_test,cpu_test)
	@LENTO_TEST_DEVICE="$(DEVICE)" scripts/fuzz $(BUILD) $(or $(SECONDS),0) $(FIRST)

bits: setup ## print a checksum over the results of random graphs, to compare builds with (GRAPHS=5000)
	@scripts/build $(PRESET) cpu_test
	@LENTO_TEST_BITS=$(or $(GRAPHS),5000) $(BUILD)/tests/cpu_test --gtest_filter=GraphBits.* | grep graphs:

ulp: setup ## measure the worst error of the vector math over all float32 (about an hour; FUNCTIONS="exp log" for some)
	@scripts/build $(PRESET) codegen_ulp
	@$(BUILD)/tests/codegen_ulp $(FUNCTIONS)

bench: package ## time Lento beside its peers, in an environment of its own (large download; CASE=sum,matmul-256 PEERS=jax,torch THREADS=1,2,4)
	@scripts/setup-bench
	@$(PACKAGE) .venv-bench/bin/python bench/run.py $(if $(CASE),--case "$(CASE)") $(if $(PEERS),--peers "$(PEERS)") \
	  $(if $(THREADS),--threads "$(THREADS)") $(BENCH_ARGS)

bench-internal: setup ## run the benchmarks of single parts
	@scripts/build $(PRESET) bench/all lento_python
	@scripts/bench-internal $(BUILD)

lint: setup ## check format, clang-tidy on changed files, layers, generator determinism, ruff, mypy
	@scripts/lint

check-includes: setup ## compile every source file without precompiled headers, to find missing includes (some minutes)
	@scripts/build $(PRESET) library
	@scripts/check-includes $(BUILD)

format: setup ## rewrite the sources in the house format
	@scripts/lint --fix

sanitize: setup ## run C++ tests under ASan+UBSan and TSan, and a part of the Python tests under ASan (ALL=1: more of them)
	@scripts/sanitize $(if $(ALL),--all)

docs: package ## build the site of the documentation, in build/docs/html (environment of its own)
	@scripts/setup-docs
	@scripts/docs $(BUILD)

docs-charts: setup ## draw the plots of docs/performance.md anew, from its tables
	@scripts/setup-docs
	@.venv-docs/bin/python docs/site/charts.py

docs-tables: package ## regenerate docs/ops.md, layers.md, ltc-coverage.md, numpy-coverage.md, names.md and the table of clauses.md
	@cp $(BUILD)/generated/docs/ops.md $(BUILD)/generated/docs/layers.md docs/
	@$(PYTHON) scripts/ltc-coverage
	@$(PYTHON) scripts/clauses
	@LENTO_BUILD=$(BUILD) $(PYTHON) scripts/names
	@LENTO_BUILD=$(BUILD) $(PYTHON) scripts/numpy-coverage

install: library ## install into PREFIX (default: build/install)
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),build/install) --component development

wheel: setup ## build a wheel that needs nothing else, into dist (PYTHONS="python3.10 python3.12" for other versions)
	@$(MAKE) --no-print-directory PRESET=release library
	@scripts/wheel $(PYTHONS)

test-wheel: wheel ## run the wheel in an empty environment and beside other libraries (SUITE=1: all Python tests too)
	@scripts/test-wheel $(if $(SUITE),--suite) $(PYTHONS)

clean: ## remove everything that was built (the environments stay)
	rm -rf build
