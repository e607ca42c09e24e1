"""The ids of calendars and events that callers know."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "calendars",
        sa.Column("id", LONG, nullable=False),
        sa.Column("connection_id", LONG, nullable=False),
        sa.Column("native_id", sa.String(length=1024), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["connections.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("connection_id", "native_id", name="uq_calendars_place"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("calendar_id", LONG, nullable=False),
        sa.Column("native_id", sa.String(length=1024), nullable=False),
        sa.ForeignKeyConstraint(["calendar_id"], ["calendars.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_calendar_id"), ["calendar_id"], unique=False)


def downgrade() -> None:
    """Undo."""
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_events_calendar_id"))

    op.drop_table("events")
    op.drop_table("calendars")
