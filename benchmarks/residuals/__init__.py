"""Class sums without public rows, with and without residuals."""
