"""What a fit publishes, and what each costs: rows, a table or labels."""
