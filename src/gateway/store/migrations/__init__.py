"""
Schema changes, oldest first, run from the package by Alembic.

    revisions  upgrades and downgrades of the schema
    env        runs every command on the connection that it gets
    versions   one module per change
"""
