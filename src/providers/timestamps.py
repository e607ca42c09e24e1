"""Times in upstream answers."""

from datetime import UTC, datetime


def parse_utc(text: str | None) -> datetime | None:
    """
    Read an ISO 8601 time, or a day as its midnight.

    Returns:
        UTC, which is also assumed of a time without an offset; None when *text* is not a time.
    """
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_utc(time: datetime) -> str:
    """Format a UTC time by RFC 3339, with "Z"."""
    return time.isoformat().replace("+00:00", "Z")
