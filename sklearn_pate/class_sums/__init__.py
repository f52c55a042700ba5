"""Class sums: linear discriminants from noisy sums of encoded rows by class.

`statistic` is the private part: rows as whole numbers, their sums, the sensitivity with its proof,
the noise and its cost. `residuals` is the private part of a later statistic, sums of rows times
residuals. `discriminants` is the public part: it uses only noisy sums and public rows.
"""
