"""Numbers with their nouns, for sentences."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 row" or "2 rows"; *plural* is the noun with an s if None."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
