"""The loaders of one request."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

from graph.loaders.content_loaders import ContentLoaders
from graph.loaders.object_loader import EVERYTHING, Loaded, ObjectLoader, Projection, each
from graph.loaders.task_loaders import TaskLoaders
from providers.calendar.merged_calendars import CalendarList, MergedCalendars
from providers.content.merged_content import MergedContent
from providers.failures import ProviderFailure
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.calendar import CalendarView
from providers.records import calendar as calendar_records
from providers.records import mail as mail_records
from providers.search_text import fold
from providers.tasks.accounts import TaskAccounts

Views = tuple[tuple[int, CalendarView], ...]  # connection -> what the caller sees


class Loaders(ContentLoaders, TaskLoaders):
    """
    The loaders of one request; made inside the event loop.

    Attributes:
        single_use: Only one field reads, once, so nothing is read together or twice.
    """

    def __init__(
        self,
        mail: MergedMailbox,
        calendars: MergedCalendars,
        tasks: TaskAccounts,
        content: MergedContent,
        *,
        single_use: bool = False,
    ) -> None:
        # Without the constructors of the bases: every request has loaders.
        self.single_use = single_use
        self.content = content
        self._narrower = {}
        self._accounts = tasks
        self._mail = mail
        self._calendars = calendars
        self._pages: dict[Hashable, asyncio.Future[Any]] = {}
        self._newest: tuple[Sequence[mail_records.Email], Projection] = ((), EVERYTHING)

    async def page(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, Loaded]]) -> Loaded:
        """Return what *read* returns; it is called once for each *key*: who asks, and for what."""
        if key not in self._pages:
            self._pages[key] = asyncio.ensure_future(read())
        page: Loaded = await asyncio.shield(self._pages[key])  # as in `ObjectLoader.load`
        return page

    def cancel(self) -> None:
        """Stop what is read for a request that was cancelled."""
        super().cancel()
        for page in self._pages.values():
            page.cancel()

    def email(self, email_id: str, projection: Projection) -> Awaitable[mail_records.Email]:
        """Read one message by its prefixed id."""
        return self._emails.load(email_id, projection)

    async def thread(self, thread_id: str, projection: Projection) -> mail_records.Thread:
        """Read one thread by its prefixed id."""
        if self.single_use:
            return await self._mail.thread(thread_id, projection=projection)
        return await self._threads.load(thread_id, projection)

    async def event(
        self, event_id: str, views: Views, projection: Projection
    ) -> calendar_records.Event:
        """Read one event by its public id, if its calendar is one that the caller sees."""
        if self.single_use:
            return await self._calendars.event(event_id, views=dict(views), projection=projection)
        return await self._events.load((event_id, views), projection)

    def keep_newest(self, emails: Sequence[mail_records.Email], fields: Projection) -> None:
        """Keep the newest messages of all mailboxes, which were read with *fields*."""
        self._newest = emails, fields

    def newest_email(self, address: str, projection: Projection) -> mail_records.Email | None:
        """Return the newest message from or to *address*; None when none is known for certain."""
        emails, fields = self._newest
        if not {"from_", "to", "cc", *projection} <= fields:
            return None
        folded = fold(address)
        for email in emails:
            sender = () if email.from_ is None else (email.from_,)
            people = (*sender, *(email.to or ()), *(email.cc or ()))
            if any(fold(person.email) == folded for person in people):
                return email
        return None

    async def calendars(self, views: Views) -> CalendarList:
        """List the calendars that the caller sees."""
        return await self._calendar_lists.load(views, EVERYTHING)

    @cached_property
    def _emails(self) -> ObjectLoader[str, mail_records.Email]:
        return ObjectLoader(lambda ids, projection: self._mail.get_many(ids, projection=projection))

    @cached_property
    def _threads(self) -> ObjectLoader[str, mail_records.Thread]:
        return ObjectLoader(lambda ids, projection: self._mail.threads(ids, projection=projection))

    @cached_property
    def _events(self) -> ObjectLoader[tuple[str, Views], calendar_records.Event]:
        async def read(
            keys: Sequence[tuple[str, Views]], projection: Projection
        ) -> Mapping[tuple[str, Views], calendar_records.Event | ProviderFailure]:
            by_views: dict[Views, list[str]] = {}  # series need one more word than events
            for event_id, views in keys:
                by_views.setdefault(views, []).append(event_id)
            read: dict[tuple[str, Views], calendar_records.Event | ProviderFailure] = {}
            for views, ids in by_views.items():
                events = await self._calendars.events_by_id(
                    ids, views=dict(views), projection=projection
                )
                read |= {(event_id, views): event for event_id, event in events.items()}
            return read

        return ObjectLoader(read)

    @cached_property
    def _calendar_lists(self) -> ObjectLoader[Views, CalendarList]:
        return ObjectLoader(each(lambda views, _: self._calendars.calendars(dict(views))))
