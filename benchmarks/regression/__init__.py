"""Numbers: PATERegressor beside private peers, on four tables."""
