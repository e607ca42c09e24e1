"""Schema changes, oldest first, run from the package by Alembic."""
