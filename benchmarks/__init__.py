"""Speed and memory as ratios to named baselines: `python -m benchmarks`."""
