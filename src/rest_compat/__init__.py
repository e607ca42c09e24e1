"""The documented paths: a table of endpoints and the documents they run."""
