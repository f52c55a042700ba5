"""Results of the papers, rebuilt: a module each."""
