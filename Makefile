# Needs the extra `docs`: pip install -e ".[docs]"
PYTHON ?= python

.PHONY: docs docs-clean

# No network; warnings are errors. SKLEARN_PATE_DOCS=all runs every example (data, torch, hours).
docs:
	MPLBACKEND=Agg $(PYTHON) -m sphinx -W --keep-going -b html docs docs/_build/html

docs-clean:
	rm -rf docs/_build docs/_gallery docs/api docs/auto_examples docs/measured
