"""Code that runs in the environments of the peers: each file needs its own package and numpy."""
