"""Documents of 10,000 objects over edges, from records in memory, against Strawberry."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import orjson

from benchmarks.baselines import strawberry_router
from benchmarks.bodies import STRAWBERRY, Body
from benchmarks.corpus import PAGE
from benchmarks.inside import MAIL_MASK, FixedMailbox, Inside, encode, events_variables
from benchmarks.table import Promise, Table
from graph.context import Context
from providers.calendar.merged_calendars import MergedCalendars
from providers.calendar.merged_events import EventPage
from providers.mail.merging import MailPage
from providers.records.mail import Email, Thread

OBJECTS = 10_000
MESSAGES = 33  # of each conversation, with 5 people each: 50 mails and their threads are OBJECTS

_PERSON = "{ name email }"
THREADS = f"""
query Threads($limit: Int!) {{
  result: emails(limit: $limit) {{
    emails {{
      id
      thread {{
        id
        messageCount
        messages {{
          id subject receivedAt isRead
          from {_PERSON} to {_PERSON} cc {_PERSON} bcc {_PERSON}
        }}
      }}
    }}
  }}
}}
"""

# 1,000 events with an organizer and 4 attendees each, who are people: every second object is
# behind an edge of its own.
PEOPLE = """
query People($from: DateTime, $to: DateTime, $limit: Int!) {
  result: calendarEvents(from: $from, to: $to, limit: $limit) {
    events {
      id
      title
      organizerPerson { email }
      attendees { email name person { email } }
    }
  }
}
"""


# Two lists of 1,000 events with 4 attendees each, without edges.
AGENDAS = """
query Agendas($from: DateTime, $to: DateTime, $limit: Int!) {
  first: calendarEvents(from: $from, to: $to, limit: $limit) { events { ...Parts } }
  second: calendarEvents(from: $from, to: $to, limit: $limit) { events { ...Parts } }
}
fragment Parts on Event { id title location startUtc endUtc attendees { email name response } }
"""


@dataclass(frozen=True, slots=True)
class Case:
    """
    A document and what it is executed on.

    Attributes:
        sources: Attribute of the context -> what takes its place.
    """

    text: str
    variables: Mapping[str, Any]
    sources: Mapping[str, Any]

    def context(self, inside: Inside, kind: type[Context] = Context) -> Context:
        """Build a context; each request has its own, because loaders keep what they have read."""
        context = inside.context(kind=kind)
        vars(context).update(self.sources)
        return context


@dataclass(frozen=True)
class MailboxOfThreads(FixedMailbox):
    """A mailbox that returns a fixed page, and conversations of its messages."""

    conversations: Mapping[str, Thread]

    async def threads(self, thread_ids: Sequence[str], **_: Any) -> Mapping[str, Thread]:
        """See `MergedMailbox.threads`."""
        return {thread_id: self.conversations[thread_id] for thread_id in thread_ids}


@dataclass
class RecordedCalendars:
    """Calendars that read their events once."""

    calendars: MergedCalendars
    _pages: list[EventPage] = field(default_factory=list)

    async def events(self, *args: Any, **more: Any) -> EventPage:
        """See `MergedCalendars.events`."""
        if not self._pages:
            self._pages.append(await self.calendars.events(*args, **more))
        return self._pages[0]


def tables(loop: asyncio.AbstractEventLoop) -> Sequence[Table]:
    """Return the tables: edges that lead to many objects each, and edges that lead to one."""
    plain, masked = Inside(), Inside(hidden=MAIL_MASK)
    conversations, people = threads(loop.run_until_complete(plain.records(PAGE))), events(plain)
    return (
        Table(
            f"{OBJECTS:,} objects over 50 edges, from records in memory, against Strawberry",
            {
                STRAWBERRY: by_strawberry(plain, conversations),
                f"{STRAWBERRY}, masked": by_strawberry(masked, conversations),
                "ours": by_plan(plain, conversations),
                "ours, masked": by_plan(masked, conversations),
            },
            [
                Promise("R8", "ours", STRAWBERRY, 0.05),
                Promise("R8 masked", "ours, masked", f"{STRAWBERRY}, masked", 0.05),
            ],
        ),
        Table(
            f"{OBJECTS:,} objects over 5,000 edges, from records in memory, against Strawberry",
            {STRAWBERRY: by_strawberry(plain, people), "ours": by_plan(plain, people)},
        ),
    )


def threads(page: MailPage) -> Case:
    """Return the case of a page of mails and their conversations."""
    mailbox = MailboxOfThreads(
        page, {email.thread_id: _thread(email, page.emails) for email in page.emails}
    )
    return Case(THREADS, {"limit": PAGE}, {"mail": mailbox})


def events(inside: Inside, text: str = PEOPLE) -> Case:
    """Return the case of 1,000 events and their people, or of another document of events."""
    calendars = RecordedCalendars(inside.context().calendars)
    return Case(text, events_variables(), {"calendars": calendars})


def by_plan(inside: Inside, case: Case) -> Body:
    """Return a function that executes the document by its plan."""
    operation = inside.graph.prepare_rest(case.text)

    async def run() -> bytes:
        context = case.context(inside)
        operation.admit(context)
        outcome = await operation.run(case.variables, context)
        if outcome.errors or outcome.data is None:
            raise AssertionError(outcome.errors)
        return encode(outcome.data["result"])

    return run


def by_strawberry(inside: Inside, case: Case) -> Body:
    """Return a function that executes the document with Strawberry and its caches."""
    schema = strawberry_router.schema()

    async def run() -> bytes:
        outcome = await schema.execute(
            case.text, variable_values=dict(case.variables), context_value=case.context(inside)
        )
        if outcome.errors or outcome.data is None:
            raise AssertionError(outcome.errors)
        return orjson.dumps(outcome.data["result"])

    return run


def _thread(email: Email, emails: Sequence[Email]) -> Thread:
    start = emails.index(email)
    messages = tuple(islice(cycle(emails), start, start + MESSAGES))
    return Thread(id=email.thread_id, provider=email.provider, messages=messages)
