"""
Bounds of parsing the calendar objects of one reading: docs/spec/upstream/caldav.md#bounds.

Anybody can send an invitation. An object of very many lines or parameters is not read, and many
large ones are not read all; small ones always are.
"""

from datetime import tzinfo

from providers.connectors.caldav.calendar_objects import CalendarObject, parse_object
from providers.turns import in_thread

_MAX_ELEMENTS = 30_000  # of one object: lines, parameters and values of lists
_MAX_LARGE = 100_000  # of all large objects of a reading
_LARGE = 3000
_LONG = 1000  # some 10 milliseconds of parsing
_LONG_TEXT = 64 * 1024  # characters


def elements(text: str) -> int:
    """Return about how many lines, parameters and values of lists a text of iCalendar has."""
    return text.count("\n") + text.count("\r") + text.count(";") + text.count(",")


class ParsingBudget:
    """The bounds of one reading."""

    def __init__(self) -> None:
        self._left = _MAX_LARGE

    async def parse(self, name: str, text: str, floating: tzinfo) -> CalendarObject:
        """Do as `parse_object`, in a thread if it takes long; beyond the bounds nothing is read."""
        number = elements(text)
        if number > _LARGE:
            if number > min(_MAX_ELEMENTS, self._left):
                return CalendarObject(name=name, is_whole=False)
            self._left -= number
        is_long = number > _LONG or len(text) > _LONG_TEXT
        return await in_thread(lambda: parse_object(name, text, floating), is_long=is_long)
