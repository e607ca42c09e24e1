"""First pages of several calendars by one call: docs/spec/calendar.md#upstream-calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from providers.calendar.calendar_memory import CalendarMemory
from providers.failures import ProviderFailure
from providers.fanout import gather_results
from providers.http.response import Response
from providers.ports.calendar import CALENDARS_PER_CALL


async def first_pages(
    calendars: Sequence[str],
    memory: CalendarMemory,
    read: Callable[[Sequence[str]], Awaitable[Mapping[str, Response]]],
) -> Mapping[str, Response]:
    """
    Read the first page of each calendar; those of a call that failed are left out.

    Args:
        calendars: Native ids.
        memory: That of the account. After a call failed, there are none until the list of the
            calendars is read again: all of them together may be too large.
        read: Reads the first pages of some calendars in one call.
    """
    if memory.is_split:
        return {}
    chunks = [
        calendars[start : start + CALENDARS_PER_CALL]
        for start in range(0, len(calendars), CALENDARS_PER_CALL)
    ]
    answers = await gather_results([read(chunk) for chunk in chunks if len(chunk) > 1])
    memory.is_split = any(isinstance(answer, ProviderFailure) for answer in answers)
    return {
        calendar: page
        for answer in answers
        if not isinstance(answer, ProviderFailure)
        for calendar, page in answer.items()
    }
