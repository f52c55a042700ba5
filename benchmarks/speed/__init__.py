"""Time and memory against a baseline that is measured in the same run."""
