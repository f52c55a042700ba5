"""Several targets in one fit, compared with one fit for each target."""
