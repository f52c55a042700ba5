"""Public rows from elsewhere: alarms of the fit, and scores of its student."""
