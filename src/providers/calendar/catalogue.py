"""
The calendars of a caller, of all accounts, under their public ids.

The rules: docs/spec/calendar.md#listing-calendars and #calendar-filter.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

import msgspec

from providers.failures import ProviderFailure, without_frames
from providers.fanout import ConnectionWarning, combined_failure, gather_results, with_timeout
from providers.ports.calendar import (
    CalendarKey,
    CalendarPort,
    CalendarView,
    NoSuchCalendar,
    PublicIdStore,
)
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Calendar, NamedCalendar
from providers.search_text import fold
from providers.turns import in_turns

CALENDARS = "calendars"

Connection = tuple[ConnectionInfo, CalendarPort]
Views = Mapping[int, CalendarView]  # by connection; the others are not there for the caller


class CalendarSource(msgspec.Struct, frozen=True):
    """A calendar, and the port that reads it."""

    calendar_id: int
    key: CalendarKey
    info: ConnectionInfo
    port: CalendarPort
    calendar: Calendar

    @property
    def named(self) -> NamedCalendar:
        """The calendar's record."""
        return NamedCalendar(
            calendar_id=self.calendar_id,
            calendar_name=self.calendar.name,
            provider=self.info.provider,
            account_email=self.info.account_email,
            is_primary=self.calendar.is_primary,
            time_zone=self.calendar.time_zone,
        )

    def warning(self, failure: ProviderFailure) -> ConnectionWarning:
        """Return the warning that the calendar could not be read."""
        return ConnectionWarning(self.info, failure, f'calendar "{self.calendar.name}"')


class CalendarCatalogue:
    """The calendars of the accounts that a caller may use. One object per request."""

    def __init__(
        self, connections: Sequence[Connection], ids: PublicIdStore, *, timeout_seconds: float
    ) -> None:
        """Take the usable connections and their ports; the timeout is that of each account."""
        self._connections = tuple(sorted(connections, key=lambda pair: pair[0].id))
        self._ids = ids
        self._timeout_seconds = timeout_seconds
        self._locks = {info.id: asyncio.Lock() for info, _ in self._connections}
        self._calendars: dict[int, Sequence[Calendar] | ProviderFailure] = {}
        self._recent: set[int] = set()  # those of `_calendars` that need not be of this request

    def port(self, connection: int) -> CalendarPort | None:
        """Return the port of a connection; None when the caller may not use it."""
        return next((port for info, port in self._connections if info.id == connection), None)

    async def require(self, only: Collection[int], views: Views) -> AbstractSet[int]:
        """
        Check calendar ids of a caller, without an upstream call; return their connections.

        Raises:
            NoSuchCalendar: The first id that does not exist for the caller.
        """
        if not only:
            return frozenset()
        keys = await self._ids.calendars(only)
        usable = {info.id for info, _ in self._connections}
        for calendar_id in only:
            key = keys.get(calendar_id)
            if key is None or key.connection not in usable or not _sees(views, key, calendar_id):
                raise NoSuchCalendar(calendar_id)
        return {key.connection for key in keys.values()}

    async def find(
        self,
        views: Views,
        *,
        only: Collection[int] | None = None,
        account: str | None = None,
        recent: bool = False,
    ) -> tuple[list[CalendarSource], list[ConnectionWarning]]:
        """
        Find calendars, in the order of their ids, and the accounts that failed.

        Accounts without a requested calendar are not called. Of several connections to one
        account, the first one is used.

        Args:
            views: What exists for the caller.
            only: Requested ids; None: all.
            account: The address of the only account to call, any case; None: all accounts.
            recent: As `CalendarPort.calendars`.

        Raises:
            NoSuchCalendar: The first id of *only* that does not exist for the caller.
            Throttled, TimedOut, AllFailed: Every account failed.
        """
        if only is not None:
            await self.require(only, views)
        holders = await self._holders(views, only)
        if account is not None:
            holders = tuple(
                holder for holder in holders if fold(holder[0].account_email) == fold(account)
            )
        results = await gather_results(
            [self._list_calendars(info.id, port, recent=recent) for info, port in holders]
        )
        warnings = [
            ConnectionWarning(info, result)
            for (info, _), result in zip(holders, results, strict=True)
            if isinstance(result, ProviderFailure)
        ]
        if holders and len(warnings) == len(holders):
            raise combined_failure(warnings, of=CALENDARS)
        sources = [
            source
            for source in await self._sources(holders, results)
            if (only is None or source.calendar_id in only)
            and _sees(views, source.key, source.calendar_id)
        ]
        if only is None:
            sources = await _distinct(sources)
        elif not warnings:
            _require_all(only, sources)
        return sources, warnings

    async def _list_calendars(
        self, connection: int, port: CalendarPort, *, recent: bool
    ) -> Sequence[Calendar]:
        """Return an account's calendars or raise its failure; calls it once per request."""
        async with self._locks[connection]:
            if connection not in self._calendars or (connection in self._recent and not recent):
                (self._recent.add if recent else self._recent.discard)(connection)
                try:
                    self._calendars[connection] = await with_timeout(
                        port.calendars(recent=recent), self._timeout_seconds
                    )
                except ProviderFailure as failure:
                    self._calendars[connection] = without_frames(failure)
        calendars = self._calendars[connection]
        if isinstance(calendars, ProviderFailure):
            raise calendars
        return calendars

    async def _holders(self, views: Views, only: Collection[int] | None) -> tuple[Connection, ...]:
        """Return the connections that hold calendars of *views*, and of *only* if it is given."""
        named = {name for view in views.values() for name in view.calendars or ()}
        keys = await self._ids.calendars(named if only is None else only) if only or named else {}
        holding = {key.connection for name, key in keys.items() if _sees(views, key, name)}
        if only is None:
            holding |= {name for name, view in views.items() if view.calendars is None}
        return tuple(pair for pair in self._connections if pair[0].id in holding)

    async def _sources(
        self,
        connections: Sequence[Connection],
        results: Sequence[Sequence[Calendar] | ProviderFailure],
    ) -> list[CalendarSource]:
        """Return the calendars of the *results*, one result per connection, in id order."""
        calendars = [
            (CalendarKey(info.id, calendar.id), info, port, calendar)
            for (info, port), result in zip(connections, results, strict=True)
            if not isinstance(result, ProviderFailure)
            async for calendar in in_turns(result)
        ]
        ids = await self._ids.calendar_ids([key for key, *_ in calendars])
        sources = [
            CalendarSource(ids[key], key, info, port, calendar)
            async for key, info, port, calendar in in_turns(calendars)
            if key in ids
        ]
        return sorted(sources, key=attrgetter("calendar_id"))


def _sees(views: Views, key: CalendarKey, calendar_id: int) -> bool:
    return key.connection in views and views[key.connection].has(calendar_id)


async def _distinct(sources: Sequence[CalendarSource]) -> list[CalendarSource]:
    """Keep the first source of each calendar that several connections reach."""
    distinct: dict[tuple[str, str, str | int, str], CalendarSource] = {}
    async for source in in_turns(sources):
        account = source.info.account_email.casefold() or source.info.id
        key = (source.info.provider, source.info.base_url, account, source.calendar.id)
        distinct.setdefault(key, source)
    return list(distinct.values())


def _require_all(only: Collection[int], sources: Sequence[CalendarSource]) -> None:
    """Raise for a calendar that its account no longer has."""
    existing = {source.calendar_id for source in sources}
    for calendar_id in only:
        if calendar_id not in existing:
            raise NoSuchCalendar(calendar_id)
