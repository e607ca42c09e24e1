"""Legend to be written."""
