"""Results of the papers, rebuilt: one module each; `python -m benchmarks.papers` runs them all."""
