"""Encoding of rows and targets: dtypes, schemas, vectorizer, targets."""
