"""Print generated calendars with their occurrences as the CalDAV connector expands them: JSON."""

import json
import os
import sys
from datetime import UTC
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "helpers")]

from dateutil.rrule import rrulestr
from generated_calendars import DEFINED, GeneratedCalendar, generated_calendar

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.occurrences import occurrences
from providers.ports.calendar import Span

CALENDARS = int(os.environ.get("CALENDAR_OBJECTS", "2000"))
SEED = os.environ.get("CALENDAR_SEED", "peers")


def expanded(number: int) -> dict[str, object]:
    # ical.js knows no zones beside those that the object defines.
    generated = generated_calendar(Random(f"{SEED}-{number}"), (None, "UTC", "floating", DEFINED))
    span = Span(generated.start, generated.end)
    listed = occurrences(parse_object("u", generated.text, UTC), span, Work())
    events = sorted(
        [event.span.start.timestamp(), event.span.end.timestamp(), event.content.title]
        for event in listed
    )
    return {
        "text": generated.text,
        "rule": generated.rule,
        "synchronised": begins_with_dtstart(generated),
        "range": [moment.timestamp() for moment in span],
        "events": events,
    }


def begins_with_dtstart(generated: GeneratedCalendar) -> bool:
    if not generated.rule:
        return "RDATE" not in generated.text
    starts = iter(rrulestr(generated.rule, dtstart=generated.first))
    return next(starts, None) == generated.first


json.dump([expanded(number) for number in range(CALENDARS)], sys.stdout)
