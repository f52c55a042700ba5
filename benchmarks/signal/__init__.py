"""How often a fit warns that its released results show no relation, with and without one."""
