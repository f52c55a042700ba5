"""What a fit may ask, what it spent, and the curator's private view of it."""
