"""The tasks surface: boards, items, comments."""
