"""Numbers: PATERegressor compared with private peers, on four tables."""
