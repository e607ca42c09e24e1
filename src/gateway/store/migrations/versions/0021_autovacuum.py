"""
Autovacuum of the tables whose expired rows are deleted, for PostgreSQL.

By default it waits until a fifth of a table is dead, of 10 million rows 2 million, and new rows use
the space of dead ones only after it.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TABLES = (
    *("deliveries", "decisions", "provider_errors", "uploads", "upload_chunks", "oauth_attempts"),
    *("events", "rule_intents"),
)
_SETTINGS = {"autovacuum_vacuum_scale_factor": "0.02", "autovacuum_vacuum_threshold": "1000"}


def upgrade() -> None:
    """Apply."""
    settings = ", ".join(f"{name} = {value}" for name, value in _SETTINGS.items())
    _alter(f"SET ({settings})")


def downgrade() -> None:
    """Undo."""
    _alter(f"RESET ({', '.join(_SETTINGS)})")


def _alter(change: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            op.execute(f"ALTER TABLE {table} {change}")
