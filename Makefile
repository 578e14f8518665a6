# Every target makes the virtual environment it needs; no other step is done by hand.
#
#   make demo        train a small network on real handwritten digits
#   make test        the tests                (some of them: make test ARGS="tests/core -k tape")
#   make test-long   the tests, with many more random programs, and by optimized code
#   make test-faults  puts wrong texts into the library, one by one, and says which test finds each (half an hour)
#   make test-distributed  several devices and processes, those that are killed and started again too (ten minutes)
#   make test-leaves  the tests of the engine, without the folders that nothing below needs  (a minute of them: make test-leaves-sample)
#   make test-native-sanitize  the tests of the extension in C, under sanitizers for addresses and undefined behaviour (gcc)
#   make test-keras  Keras's own tests on this backend, with TensorFlow beside them (a few minutes of them: make test-keras-sample)
#   make test-keras-next  the hook and tests/keras with Keras's newest build  (with its newest release: make test-keras-next KERAS=keras)
#   make test-thirdparty  tests of libraries that were written for TensorFlow (a minute of them: make test-thirdparty-sample)
#   make test-ecosystem  the programs of the page of other libraries, with their newest releases
#   make test-gpu    what matters on a GPU, within ten minutes (on a CPU: GRADTAPE_TEST_CARD=cpu make test-gpu)
#   make bench-gpu   measures there, within ten minutes
#   make gpu-bundle  gathers what a GPU's machine without a network lacks; copy the tree with build/gpu-bundle there
#   make bench       against JAX, PyTorch and TensorFlow, in environments of their own under .bench/
#   make lint        style, and `make format` fixes it
#   make types       static types
#   make docs        runs the examples of README.md and docs/, and checks their links
#   make site        builds the documentation site into build/site/html, with the reference of all names; `make site-serve` shows it,
#                    `make site-check` reads it in a browser (Chromium)
#   make notebooks   runs the notebooks from top to bottom  (one of them: make notebooks ARGS=gan)
#   make packages    builds the wheel and the sdist into dist/, and checks their metadata and contents
#   make test-packages  installs the sdist with a compiler and without one, and compares what both compute
#   make release     all that a release has beside its tag: packages with and without the extension in C, checksums, notes, bill of materials
#   make snapshot    accept a change of the public names, and write the generated parts of docs/
#   make clean       remove everything that make made
#
# With another Python: make test PYTHON=python3.12 (its environment is .venv-python3.12).

ifdef PYTHON
VENV ?= .venv-$(notdir $(PYTHON))
else
PYTHON := $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
endif

BIN := $(VENV)/bin
PIP := bin/python -m pip --disable-pip-version-check
# One more than there are processors: many tests wait for processes that they start.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SECONDARY:
.PHONY: help demo test test-long test-faults test-leaves test-leaves-sample test-distributed test-keras test-keras-sample keras-tests test-thirdparty test-thirdparty-sample test-ecosystem ecosystem-programs \
    test-keras-next keras-next-tests test-native-sanitize thirdparty-baseline test-gpu bench-gpu gpu-bundle bench lint format types docs site site-serve site-check packages test-packages release notebooks snapshot clean

help:
	@sed -n '3,28s/^# \{0,1\}//p' Makefile

demo: $(VENV)/ready-demo
	$(BIN)/gradtape demo $(ARGS)

# The tests start many processes, and each would compile the library's sources if Python were not allowed to keep what it compiled.
test test-long test-faults: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/ready-test
	$(PYTEST) $(ARGS)

test-faults: $(VENV)/ready-test
	$(BIN)/python -m tests.faults.seeded $(ARGS)

test-distributed: $(VENV)/ready-test
	$(BIN)/python -m pytest --long tests/distribute $(ARGS)

test-long: $(VENV)/ready-test
	XLA_FLAGS= $(PYTEST) --long $(ARGS)

# In a copy of the package. A test that asks for a leaf itself is left out.
test-leaves: $(VENV)/ready-test
	$(BIN)/python -m tests.leaves build/without-leaves -n $(JOBS) --dist worksteal $(ARGS)

test-leaves-sample:
	$(MAKE) test-leaves ARGS="tests/engine/test_rules.py tests/ops/math tests/autodiff/test_tape.py tests/autodiff/test_forward.py \
	    tests/control/test_loops.py tests/control/test_state.py tests/derivatives/test_hooks.py"

# In a copy, so that the extension that is built in place stays as it is. JAX and Python leave memory to the end of the process.
SANITIZED := build/sanitized

test-native-sanitize: $(VENV)/ready-test
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	cp -r gradtape gradtape_cli tests pyproject.toml hatch_build.py $(SANITIZED)
	$(BIN)/python -m pip --disable-pip-version-check install -qq setuptools
	$(BIN)/python $(SANITIZED)/hatch_build.py -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
	cd $(SANITIZED) && ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    $(abspath $(BIN))/python -m pytest -p no:cacheprovider tests/native tests/engine/test_rules.py tests/engine/test_threads.py $(ARGS)

# Keras's tests import TensorFlow here and there, so they have an environment of their own.
test-keras:
	$(MAKE) VENV=.venv-keras keras-tests

keras-tests: $(VENV)/ready-test-keras
	$(BIN)/python -m tests.keras.own -n auto --maxprocesses $(JOBS) $(ARGS)

test-keras-sample: $(VENV)/ready-test
	$(BIN)/python -m tests.keras.own --sample -n auto --maxprocesses $(JOBS)

# Two packages with the same files: the one that goes leaves none of them.
KERAS ?= keras-nightly

test-keras-next:
	$(MAKE) VENV=.venv-keras-next keras-next-tests

keras-next-tests: $(VENV)/ready-test
	$(VENV)/$(PIP) uninstall -qq -y keras keras-nightly
	$(VENV)/$(PIP) install -qq --pre --no-deps $(KERAS)
	$(BIN)/python -m tests.keras.next $(ARGS)

# The libraries come from PyPI, without TensorFlow.
test-thirdparty: $(VENV)/ready-test
	$(BIN)/python -m tests.thirdparty $(ARGS)

test-thirdparty-sample: $(VENV)/ready-test
	$(BIN)/python -m tests.thirdparty --sample

# What the page of other libraries shows, with their newest releases.
test-ecosystem:
	$(MAKE) VENV=.venv-ecosystem ecosystem-programs

ecosystem-programs: $(VENV)/ready-test-ecosystem
	$(BIN)/python -m tests.site.ecosystem

# Which of their tests pass on TensorFlow, written down anew: hours. (JAX is a backend that some of them import.)
thirdparty-baseline:
	$(MAKE) VENV=.venv-thirdparty-tensorflow .venv-thirdparty-tensorflow/ready-test-keras
	.venv-thirdparty-tensorflow/bin/python -m tests.thirdparty --baseline $(ARGS)

# Where there is a bundle, nothing else is installed, and JAX and PyTorch are those of the machine. The extension in C comes along.
GPU_BUNDLE := build/gpu-bundle

gpu-bundle: $(VENV)/ready-test-gpu
	$(BIN)/python -m benchmarks.bundle $(GPU_BUNDLE)

ifneq ($(wildcard $(GPU_BUNDLE)/*.whl),)
GPU_BIN := .venv-gpu/bin
GPU_READY := .venv-gpu/ready

# The packages of the machine's Python are named in a file of paths, as that Python may itself be a virtual environment.
MACHINE = import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")

.venv-gpu/ready: $(wildcard $(GPU_BUNDLE)/*.whl)
	$(PYTHON) -m venv --clear --without-pip .venv-gpu
	$(PYTHON) -c '$(MACHINE)' > $$(echo .venv-gpu/lib/python*/site-packages)/machine.pth
	$(PYTHON) -m pip --python .venv-gpu/bin/python install -q --no-index --find-links $(GPU_BUNDLE) gradtape hypothesis pytest pytest-xdist
	cp .venv-gpu/lib/python*/site-packages/gradtape/_src/core/native/*.so gradtape/_src/core/native/ || true
	@touch $@
else
GPU_BIN := $(BIN)
GPU_READY := $(VENV)/ready-test-gpu
endif

# A machine's Python may have pytest-benchmark, whose warning about pytest-xdist would be an error.
test-gpu: $(GPU_READY)
	XLA_PYTHON_CLIENT_PREALLOCATE=false timeout 600 $(GPU_BIN)/python -m pytest -n auto --maxprocesses $(JOBS) -p no:benchmark -m gpu tests/gpu $(ARGS)

bench-gpu: $(GPU_READY)
	timeout 600 $(GPU_BIN)/python -m benchmarks.gpu $(ARGS)

bench: $(VENV)/ready-test
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(VENV)/ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/ready-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/ready-lint
	$(BIN)/mypy
	$(BIN)/mypy tests/types/program.py

docs: $(VENV)/ready-test
	$(BIN)/python -m pytest tests/test_docs.py $(ARGS)

site: $(VENV)/ready-docs
	$(PYTEST) -q tests/test_docs.py
	$(BIN)/python -m docs.site $(ARGS)

site-serve:
	@test -f build/site/html/index.html || { echo 'There is no site yet: make site'; exit 1; }
	$(PYTHON) -m http.server --directory build/site/html --bind 127.0.0.1 8000

notebooks: $(VENV)/ready-notebooks
	$(BIN)/python -m docs.site.notebooks $(ARGS)

site-check: $(VENV)/ready-browser
	$(BIN)/python -m tests.site.crawl build/site/html build/site/pictures

packages: $(VENV)/ready-release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tests.packages.contents dist

test-packages: packages
	$(BIN)/python -m tests.packages.installed dist

release: packages
	GRADTAPE_PURE=1 $(BIN)/python -m build --wheel
	$(BIN)/python -m twine check --strict dist/*.whl dist/*.tar.gz
	$(BIN)/python -m tests.packages.release dist

snapshot: $(VENV)/ready-test
	$(BIN)/python tests/architecture/public_names.py --write
	$(BIN)/python tests/signatures/compatibility.py --write
	$(BIN)/python -m tests.keras.edits_page --write
	$(BIN)/python -m docs.site.codes --write
	$(BIN)/python -m benchmarks.page --write

clean:
	rm -rf $(VENV) .venv-* .thirdparty .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

# One stamp per dependency group, or extra for users. The extension in C is built in place, where a compiler is.
$(VENV)/ready-%: pyproject.toml hatch_build.py gradtape/_src/core/native/recording.c | $(VENV)/bin/python
	@$(VENV)/$(PIP) install -qq 'pip>=25.1'  # which knows dependency groups
	$(VENV)/$(PIP) install -qq -e $(if $(filter demo,$*),'.[$*]',. --group $*)
	@touch $@

# A Python that was packaged without ensurepip still makes an environment, with the pip it has.
%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo 'gradtape needs Python 3.11 or later; name one: make PYTHON=/path/to/python3.11 ...'; exit 1; }
	$(PYTHON) -m venv $* || { $(PYTHON) -m venv --clear --without-pip $* && $(PYTHON) -m pip --python $@ install -qq pip; }
