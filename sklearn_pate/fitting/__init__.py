"""Steps of a fit: check the inputs, plan, release, and train the student."""
