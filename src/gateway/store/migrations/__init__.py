"""
Schema changes, oldest first, run from the package by Alembic.

    env       runs every command on the connection that it gets
    versions  one module per change
"""
