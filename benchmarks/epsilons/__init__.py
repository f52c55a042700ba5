"""Scores of default fits over epsilons."""
