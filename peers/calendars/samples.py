"""
Compare the CalDAV connector with recurring-ical-events over the sample files of two libraries.

Those of icalendar are in its package; those of libical are read from the folder that
`LIBICAL_SAMPLES` names, such as its unpacked source package. Each event or series of a file is an
object of its own, as servers keep them.
"""

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

import icalendar
import recurring_ical_events

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.content_lines import NotCalendar
from providers.connectors.caldav.occurrences import occurrences
from providers.ports.calendar import Span

FOLDERS = (str(Path(icalendar.__file__).parent / "tests"), os.environ.get("LIBICAL_SAMPLES", ""))
DAY = timedelta(days=1)
RANGE = timedelta(days=400)  # behind the first start of an object
_BLOCKS = re.compile(r"^BEGIN:(VEVENT|VTIMEZONE)\r?\n.*?^END:\1\s*?$", re.M | re.S | re.I)
_UID = re.compile(r"^UID(?:;[^:]*)?:(.*(?:\r?\n[ \t].*)*)", re.M | re.I)
_START = re.compile(r"^DTSTART[^:]*:(\d{8})", re.M | re.I)

Events = list[tuple[datetime, datetime, str]]
# What the library reads otherwise: a sign in the text.
KNOWN = {
    "revisions of one sequence: the last DTSTAMP counts (RFC 5546, 2.1.5)": r"(?s)UID:calsrv.*UID:",
    "a day that ends at its own start is a whole day": r"DTSTART[^:]*:(\d{8})\s+DTEND[^:]*:\1\s",
    "a zone of an old name keeps the offset of its first time": r"TZID=US-Eastern",
    "a period of dates, which RFC 5545, 3.3.9 forbids": r"RDATE;.*VALUE=PERIOD.*:\d{8}/",
}


def main() -> None:
    """Print counts, and what differs."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for path in sorted(path for name in filter(None, FOLDERS) for path in samples(Path(name))):
        texts = list(objects(path.read_text("utf-8", "replace")))
        counts["files with events"] += bool(texts)
        for text in texts:
            outcome, ours, theirs = compare(text)
            counts["objects"] += 1
            counts[outcome] += 1
            if outcome == "open":
                print(path.name, text, ours, theirs, sep="\n")
    for name, count in counts.most_common():
        print(count, name)
    print(f"{counts['objects']} sample objects, open differences: {counts['open']}")
    sys.exit(1 if counts["open"] or not counts["objects"] else 0)


def samples(folder: Path) -> Iterator[Path]:
    """Yield the calendar files of a folder."""
    return folder.rglob("*.ics")


def objects(text: str) -> Iterator[str]:
    """Yield the events of a file by their UIDs, each with all definitions of zones."""
    zones: list[str] = []
    events: dict[str, list[str]] = {}
    for number, block in enumerate(_BLOCKS.finditer(text)):
        uid = _UID.search(block[0])
        if block[1].upper() == "VTIMEZONE":
            zones.append(block[0])
        else:
            events.setdefault(uid[1] if uid else str(number), []).append(block[0])
    for blocks in events.values():
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", *zones, *blocks, "END:VCALENDAR", ""]
        yield "\r\n".join(lines)


def compare(text: str) -> tuple[str, Events | None, Events | None]:
    """Return how the readings of an object differ, and both."""
    starts = list(days(text))
    if not starts:
        return "without a start", None, None
    span = Span(min(starts) - 2 * DAY, min(starts) + RANGE)
    try:
        parsed = parse_object("u.ics", text, UTC)
        is_whole = parsed.is_whole and parsed.zones_are_known
        listed = occurrences(parsed, span, Work())
        ours = sorted((one.span.start, one.span.end, one.content.title) for one in listed)
    except NotCalendar:
        ours, is_whole = None, False
    try:
        theirs = by_library(text, span)
    except Exception as error:  # its parser and its expansion raise many
        return f"refused by the library: {type(error).__name__}", ours, None
    if ours == theirs:
        return "the same", ours, theirs
    if not is_whole:
        return "named by the connector as not read whole", ours, theirs
    known = (name for name, sign in KNOWN.items() if re.search(sign, text))
    return next(known, "open"), ours, theirs


def by_library(text: str, span: Span) -> Events:
    """Return the occurrences within a range as the library expands them."""
    calendar = icalendar.Calendar.from_ical(text)
    events = recurring_ical_events.of(calendar).between(span.start - DAY, span.end + DAY)
    listed = ((utc(one.start), utc(one.end), str(one.get("SUMMARY", ""))) for one in events)
    return sorted(one for one in listed if one[0] < span.end and one[1] > span.start)


def days(text: str) -> Iterator[datetime]:
    """Yield the days on which the events of an object start first."""
    for day in _START.findall(text):
        try:
            yield datetime.strptime(day, "%Y%m%d").replace(tzinfo=UTC)
        except ValueError:
            continue


def utc(value: object) -> datetime:
    """Return a time of the library as UTC; a floating one is UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


main()
