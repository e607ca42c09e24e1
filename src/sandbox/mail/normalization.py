"""Unicode composition of the text of messages, for searches."""

import re
import unicodedata

# Normalisation sorts the combining marks of a row, in quadratic time. Marks are no word characters.
_LONG_ROW = re.compile(r"[^\w\s\x00-\x7f]{31,}")


def compose(text: str) -> str:
    """Return *text* composed (NFC) and casefolded; of a row of marks, the first 30."""
    shortened = _LONG_ROW.sub(lambda row: row[0][:30], text)
    return unicodedata.normalize("NFC", shortened).casefold()
