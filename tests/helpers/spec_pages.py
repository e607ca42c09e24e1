"""Sections and tables of the specification in docs/spec."""

import re

from paths import REPOSITORY


def section(page: str, heading: str) -> str:
    """Return the text under *heading* of *page* ("email"), up to the next heading."""
    text = (REPOSITORY / "docs" / "spec" / f"{page}.md").read_text("utf-8")
    (_, content) = re.split(rf"^#+ {re.escape(heading)}$", text, maxsplit=1, flags=re.MULTILINE)
    return re.split(r"^#+ ", content, maxsplit=1, flags=re.MULTILINE)[0]


def first_table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table under *heading*, without its head."""
    (table, *_) = re.findall(r"(?:^\|.*\|\n)+", section(page, heading), flags=re.MULTILINE)
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    return [[cell.strip() for cell in cells] for cells in rows[2:]]


def words(cell: str) -> list[str]:
    """Return what *cell* has in backticks."""
    return re.findall(r"`([^`]+)`", cell)
