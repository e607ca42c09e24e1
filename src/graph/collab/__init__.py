"""Collaboration content as the schema shows it, and what its root fields do."""
