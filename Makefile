PYTHON ?= python
SCRIPTS := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
# One thread for each process: the tests run in parallel already, and results do not depend on it.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# What a change is compared with to see whether it brings news; nothing is asked of a copy without history.
NEWS_BASE ?= origin/main
ARGS ?=

.PHONY: check types rules test coverage slow mutants bench bench-gpu repro repro-check docs clean

check:            ## format, lint, types, import law, news, docstrings, sizes
	$(MAKE) --no-print-directory --jobs 2 types rules

types:
	$(PYTHON) -m mypy

rules:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(SCRIPTS)/lint-imports --no-logo
	$(PYTHON) tools/import_check.py
	$(PYTHON) tools/size_check.py
	$(PYTHON) tools/home_check.py
	$(PYTHON) tools/dead_check.py
	if git rev-parse --quiet --verify $(NEWS_BASE) > /dev/null 2>&1; then $(PYTHON) -m towncrier check --compare-with $(NEWS_BASE); fi
	$(PYTHON) tools/docstring_check.py

test:             ## every quick test and doctest in parallel
	$(ONE_THREAD) $(PYTHON) -m pytest -n auto -m "not slow" $(ARGS)

coverage:         ## the same with branch coverage, which doubles the time
	$(ONE_THREAD) $(PYTHON) -m pytest -n auto -m "not slow" --cov --cov-report=term $(ARGS)

slow:             ## the tests marked slow
	$(ONE_THREAD) $(PYTHON) -m pytest -n auto -m slow $(ARGS)

torture:          ## kills, full disks, races and long runs; TORTURE=0.05 takes that share of them
	$(ONE_THREAD) $(PYTHON) -m pytest -m torture tests/torture $(ARGS)

lowest:           ## the whole suite and the demo under the lowest versions that pyproject.toml allows
	rm -rf build/lowest
	$(PYTHON) -m venv build/lowest
	$(PYTHON) tools/lowest.py > build/lowest/pins.txt
	build/lowest/bin/python -m pip install --quiet -r build/lowest/pins.txt
	build/lowest/bin/python -m pip install --quiet --no-deps -e .
	build/lowest/bin/gnomon demo --out build/lowest/demo
	$(ONE_THREAD) build/lowest/bin/python -m pytest -n auto $(ARGS)

mutants:          ## edits of the code that must make a named test fail
	$(ONE_THREAD) $(PYTHON) tools/mutants.py $(ARGS)

bench:            ## speed and memory: every benchmarks/bench_*.py; its peers come with the extra `bench`
	set -e; for script in benchmarks/bench_*.py; do $(PYTHON) $$script $(ARGS); done

bench-gpu:        ## fits of tensors on a GPU, beside PyTorch's own; record in docs/how_big.md
	$(PYTHON) benchmarks/bench_gpu.py $(ARGS)

repro:            ## the papers' tables and figures, with the printed numbers beside ours; docs/results by --page
	set -e; for name in $$($(SCRIPTS)/gnomon reproduce | cut -d' ' -f1); do $(SCRIPTS)/gnomon reproduce $$name; done

repro-check:      ## a quick run of each table in docs/results, beside the numbers that are kept there
	$(PYTHON) tools/repro_check.py docs/results

docs:             ## the site in build/docs, every example run; a warning is an error
	$(ONE_THREAD) MPLBACKEND=Agg $(PYTHON) -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs

clean:
	rm -rf build docs/reference docs/gallery docs/sg_execution_times.rst benchmarks/build dist .coverage .coverage.* htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
