"""Class sums: noisy sums of encoded rows by class, read as linear discriminants.

`statistic` is the private half: rows as whole numbers, their sums, the sensitivity with its proof,
the noise and its cost. `discriminants` is the public half, and uses noisy sums alone.
"""
