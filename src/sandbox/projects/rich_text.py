"""Conversion between plain text and the API's rich text, an XML fragment in ``<body>``."""

import html
import re

_MARKUP = re.compile(r"<[^<>]*>")
_BREAKS = re.compile(r"<br\s*/?>|</li>|</h\d>")


def strip_markup(rich_text: str) -> str:
    """Return the plain text of rich text."""
    return html.unescape(_MARKUP.sub("", _BREAKS.sub("\n", rich_text))).strip()


def to_rich_text(text: str) -> str:
    """Return plain text as rich text."""
    return f"<body>{html.escape(text, quote=False)}</body>"
