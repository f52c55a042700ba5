"""How the defaults that are numbers were set, and how they do."""
