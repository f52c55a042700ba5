"""The steps of a fit: given, planned, released, learnt."""
