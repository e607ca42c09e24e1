"""Alembic environment: runs every command on the connection that it gets."""

from alembic import context

from gateway.store import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.METADATA,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
