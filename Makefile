# Everything runs in a virtual environment inside this folder; nothing is installed outside it.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
export SCIPY_ARRAY_API ?= 1

.PHONY: demo reproduce test golden calibration fuzz coverage lint docs check guard bench peers quality dist lowest interpreters mlflow integrations news clean

demo: $(VENV)/.cli  ## what the recommended model gains, on simulated data with known truth; writes catbayes-demo.html
	$(RUN)/catbayes demo --force

reproduce: $(VENV)/.dev  ## the paper's experiments, hours; what is finished is not run again
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments --folder results --page docs/results.md

test: $(VENV)/.dev  ## everything that runs in minutes, doctests of the code included
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(RUN)/python -m pytest -n auto --dist loadgroup -m "not calibration" tests src

golden: $(VENV)/.dev  ## answers bit for bit as in tests/golden.json; other machines may round otherwise
	$(RUN)/python tests/golden.py

calibration: $(VENV)/.dev  ## the slow statistical suites
	$(RUN)/python -m pytest -n auto -m calibration tests

FUZZ_SECONDS ?= 3600

fuzz: $(VENV)/.dev  ## random tables and sequences of calls against plain loops; failures are tried first next time
	OMP_NUM_THREADS=1 $(RUN)/python tests/fuzzing.py --seconds $(FUZZ_SECONDS)

coverage: $(VENV)/.dev  ## lines and branches of src that the tests run, twice as long as `make test`
	OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n auto -m "not calibration" --cov --cov-branch --cov-report= tests src
	$(RUN)/python -m coverage report --skip-covered

lint: $(VENV)/.dev  ## style, types and layers
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports

docs: $(VENV)/.dev  ## every code block and example runs, and the pages are built: build/docs/index.html
	$(RUN)/python -m pytest README.md docs
	OMP_NUM_THREADS=1 $(RUN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(RUN)/python docs/check.py build/docs

check: test lint docs

BASE ?= HEAD

guard: $(VENV)/.dev  ## answers, scores, leakage, draws, time and memory against the commit BASE; ten minutes
	$(RUN)/python benchmarks/guard.py --base $(BASE) $(if $(ONLY),--only $(ONLY))

bench: $(VENV)/.dev  ## ratios against others, docs/speed.md; models too, with CATBAYES_DATA; a quarter of an hour
	OMP_NUM_THREADS=1 PYTHONPATH=. $(RUN)/python benchmarks/encode.py --page docs/speed.md

quality: $(VENV)/.dev  ## scores against others, published folds and noise; needs CATBAYES_DATA, a day on two cores
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments.quality --all --folder results --page docs/quality.md

peers: $(VENV)/.dev  ## scikit-learn's own tests of TargetEncoder on ours, with every difference and its reason; seconds
	OMP_NUM_THREADS=1 $(RUN)/python tests/peers/run.py

lowest:  ## the core tests with the lowest versions of dependencies, on the lowest Python; two minutes
	.ci/smoke $(PYTHON) lowest

interpreters:  ## the core tests on every newer Python that is installed; two minutes each
	@for python in $$(.ci/interpreters); do .ci/smoke $$python || exit 1; done

mlflow:  ## models through MLflow and back, in an environment of its own; a minute
	PYTHON=$(PYTHON) .ci/mlflow

integrations:  ## recipes for AutoGluon and skrub with the real packages, in an environment of its own; two minutes
	PYTHON=$(PYTHON) .ci/integrations

dist:  ## sdist and wheel in dist/, the same from two builds, installed into empty environments and run there
	PYTHON=$(PYTHON) .ci/dist

news: $(VENV)/.dev  ## what the next section of CHANGELOG.md will be, from the fragments in changes/
	$(RUN)/towncrier build --draft --version next

clean:
	rm -rf $(VENV) build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.cli: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.cli
