"""The base of the tables, and columns that several have."""

from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel


class Row(SQLModel):
    """Base of the tables. Their rows are not validated, so no validator is built at the start."""

    model_config = {"defer_build": True}


def bigint() -> Any:
    """Return the type of whole numbers of 64 bits."""
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def primary_key() -> Any:
    """Return the column of a key that the database counts up."""
    return Field(default=None, sa_column=sa.Column(bigint(), primary_key=True))


def foreign_key(target: str, *, primary_key: bool = False, index: bool = False) -> Any:
    """Return a column that refers to *target*; its rows go with those they refer to."""
    column = sa.Column(
        bigint(),
        sa.ForeignKey(target, ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
        index=index,
    )
    return Field(sa_column=column)


def reference(*, index: bool = False) -> Any:
    """Return a column of the id of a row, or None; without a foreign key."""
    return Field(default=None, sa_column=sa.Column(bigint(), nullable=True, index=index))


def timestamp(*, nullable: bool = False) -> Any:
    """Return a column of milliseconds since the epoch."""
    if nullable:
        return Field(default=None, sa_column=sa.Column(sa.BigInteger(), nullable=True))
    return Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))


def optional_bytes() -> Any:
    """Return a column of bytes, or None."""
    return Field(default=None, sa_column=sa.Column(sa.LargeBinary(), nullable=True))


def json() -> Any:
    """Return a column of JSON."""
    return Field(sa_column=sa.Column(sa.JSON(), nullable=False))


def prefix_index(table: str, name: str) -> sa.Index:
    """Return the index that finds the rows of *table* by the beginning of a text."""
    operators = {name: "varchar_pattern_ops"}  # else only the C collation finds a beginning
    return sa.Index(f"ix_{table}_{name}", name, postgresql_ops=operators)


def filter_indexes(table: str, *names: str, partial: bool = False) -> list[sa.Index]:
    """
    Return the indexes that find the rows of *table* with a value of a column, in the order of time.

    *partial*: rows with NULL in the column are left out, which keeps writes of these rows cheap.
    """
    wheres = {name: sa.text(f"{name} IS NOT NULL") if partial else None for name in names}
    return [
        sa.Index(
            f"ix_{table}_{name}_at_id",
            *(name, "at", "id"),
            postgresql_where=where,
            sqlite_where=where,
        )
        for name, where in wheres.items()
    ]
