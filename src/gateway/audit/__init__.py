"""The decision log: one row per call of a known token, and what decided it. Decisions 3."""
