"""
Which calendars there are for a caller: those of every account, under the ids that callers know.

Source: decisions 6.2 (`calendarId`), 6.5 and 16.
"""

import asyncio
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from providers.failures import ProviderFailure
from providers.fanout import ConnectionWarning, combined_failure, gather_results, with_timeout
from providers.ports.calendar import CalendarKey, CalendarPort, NoSuchCalendar, PublicIdStore
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Calendar, NamedCalendar

CALENDARS = "calendars"

Connection = tuple[ConnectionInfo, CalendarPort]


@dataclass(frozen=True, slots=True)
class CalendarSource:
    """A calendar to be read."""

    calendar_id: int
    place: CalendarKey
    info: ConnectionInfo
    port: CalendarPort
    calendar: Calendar

    @property
    def named(self) -> NamedCalendar:
        """The calendar as callers see it."""
        return NamedCalendar(
            calendar_id=self.calendar_id,
            calendar_name=self.calendar.name,
            provider=self.info.provider,
            account_email=self.info.account_email,
            is_primary=self.calendar.is_primary,
            time_zone=self.calendar.time_zone,
        )

    def warning(self, failure: ProviderFailure) -> ConnectionWarning:
        """Name the calendar as one that could not be read."""
        return ConnectionWarning(self.info, failure, f'calendar "{self.calendar.name}"')


class CalendarCatalogue:
    """The calendars of the accounts that a caller may use, for one request."""

    def __init__(
        self, connections: Sequence[Connection], ids: PublicIdStore, *, timeout_seconds: float
    ) -> None:
        """Take the usable connections and their ports. *timeout_seconds*: seconds each may take."""
        self._connections = tuple(sorted(connections, key=lambda pair: pair[0].id))
        self._ids = ids
        self._timeout_seconds = timeout_seconds
        self._asking = {info.id: asyncio.Lock() for info, _ in self._connections}
        self._told: dict[int, Sequence[Calendar] | ProviderFailure] = {}

    def port(self, connection: int) -> CalendarPort | None:
        """Return a connection's port; None when the caller may not use it."""
        return next((port for info, port in self._connections if info.id == connection), None)

    async def require(self, only: Collection[int], allowed: AbstractSet[int] | None) -> None:
        """
        Check calendars that were named; nobody is asked.

        Raises:
            NoSuchCalendar: The first one that was never given out, or is not the caller's.
        """
        if not only:
            return
        places = await self._ids.calendars(only)
        usable = {info.id for info, _ in self._connections}
        for one in only:
            place = places.get(one)
            hidden = allowed is not None and one not in allowed
            if place is None or hidden or place.connection not in usable:
                raise NoSuchCalendar(one)

    async def find(
        self, *, only: Collection[int] | None = None, allowed: AbstractSet[int] | None = None
    ) -> tuple[list[CalendarSource], list[ConnectionWarning]]:
        """
        Find calendars, by id, and the accounts that did not tell theirs.

        Accounts that hold nothing that is asked for are left alone. Of several connections to
        one account, the first one's calendars are taken.

        Args:
            only: The ids asked for; None for all.
            allowed: Those that exist for the caller; None for all.

        Raises:
            NoSuchCalendar: The first one of *only* that does not exist for the caller.
            Throttled, TimedOut, AllFailed: No account answered.
        """
        if only is not None:
            await self.require(only, allowed)
        visible = allowed if only is None else frozenset(only)
        asked = await self._holders(visible)
        answers = await gather_results([self._calendars(info.id, port) for info, port in asked])
        warnings = [
            ConnectionWarning(info, answer)
            for (info, _), answer in zip(asked, answers, strict=True)
            if isinstance(answer, ProviderFailure)
        ]
        if asked and len(warnings) == len(asked):
            raise combined_failure(warnings, of=CALENDARS)
        targets = [
            one
            for one in await self._named(asked, answers)
            if visible is None or one.calendar_id in visible
        ]
        if only is None:
            targets = _distinct(targets)
        elif not warnings:
            _require(only, targets)
        return targets, warnings

    async def _calendars(self, connection: int, port: CalendarPort) -> Sequence[Calendar]:
        """Return an account's calendars; it is asked once in the life of this object."""
        async with self._asking[connection]:
            if connection not in self._told:
                try:
                    self._told[connection] = await with_timeout(
                        port.calendars(), self._timeout_seconds
                    )
                except ProviderFailure as failure:
                    self._told[connection] = failure
        told = self._told[connection]
        if isinstance(told, ProviderFailure):
            raise told
        return told

    async def _holders(self, visible: AbstractSet[int] | None) -> tuple[Connection, ...]:
        """Return the connections that hold *visible* calendars; None for all calendars."""
        if visible is None:
            return self._connections
        places = await self._ids.calendars(visible)
        holders = {place.connection for place in places.values()}
        return tuple(pair for pair in self._connections if pair[0].id in holders)

    async def _named(
        self, asked: Sequence[Connection], answers: Sequence[Sequence[Calendar] | ProviderFailure]
    ) -> list[CalendarSource]:
        """Put all calendars that were told under their ids, in the order of these."""
        found = [
            (info, port, calendar)
            for (info, port), answer in zip(asked, answers, strict=True)
            if not isinstance(answer, ProviderFailure)
            for calendar in answer
        ]
        ids = await self._ids.calendar_ids(
            [CalendarKey(info.id, calendar.id) for info, _, calendar in found]
        )
        targets = (
            CalendarSource(ids[place], place, info, port, calendar)
            for info, port, calendar in found
            if (place := CalendarKey(info.id, calendar.id)) in ids
        )
        return sorted(targets, key=lambda one: one.calendar_id)


def _distinct(targets: Sequence[CalendarSource]) -> list[CalendarSource]:
    """Keep one of each calendar, though several connections lead to its account."""
    found: dict[tuple[str, str, str | int, str], CalendarSource] = {}
    for one in targets:
        account = one.info.account_email.casefold() or one.info.id
        key = (one.info.provider, one.info.base_url, account, one.calendar.id)
        found.setdefault(key, one)
    return list(found.values())


def _require(only: Collection[int], targets: Sequence[CalendarSource]) -> None:
    """Refuse a calendar that its account has no longer."""
    found = {one.calendar_id for one in targets}
    for one in only:
        if one not in found:
            raise NoSuchCalendar(one)
