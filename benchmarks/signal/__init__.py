"""How often a fit warns that what it released shows no relation, with and without one."""
