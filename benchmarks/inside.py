"""
The gateway without HTTP: documents of the REST table, connectors and policy, on recorded responses.

Only the upstream call is replaced: `RecordedUpstream` returns bytes where
`providers.http.client.Upstream` would fetch them.
"""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec

from benchmarks.corpus import AGENDA_ENDS, AGENDA_STARTS, NOON, Corpus
from gateway.secrets.keyring import Keyring
from graph import schema
from graph.context import Context
from graph.documents.operations import Graph
from graph.documents.rest_operation import RestOperation
from graph.masking import masks
from policy.caller import Caller
from policy.grants import Grant, validate
from policy.vocabulary import CalendarField, EmailField, Surface
from providers.calendar.merged_calendars import MergedCalendars
from providers.http.client import Upstream
from providers.http.response import Response
from providers.mail.merged_mailbox import MergedMailbox
from providers.mail.merging import MailPage
from providers.ports.calendar import CalendarKey, EventKey
from providers.ports.connection import ConnectionInfo
from providers.registry import PortRegistry
from rest_compat.documents import document
from rest_compat.endpoint import OMITTED_WHEN_EMPTY

EMAIL = "me@home.example"
_KEYRING = Keyring.read("a key of the benchmark alone")
encode = msgspec.json.Encoder().encode

# The three fields of each surface that the masked variants mask.
MAIL_MASK = ("bcc", "attachments", "body_preview")
EVENT_MASK = ("description", "location", "join_url")


def settings(hidden: Sequence[str] = ()) -> dict[str, object]:
    """Return the settings of a token with all operations, and all fields visible but *hidden*."""
    return validate(
        {
            "emailAccessEnabled": True,
            "allowedEmailOperations": ["all"],
            "calendarAccessEnabled": True,
            "calendarAccessLevel": "full_access",
            "timeframePastDays": None,
            "timeframeFutureDays": None,
            "visibleEmailFields": [
                field.value for field in EmailField if field.value not in hidden
            ],
            "visibleCalendarFields": [
                field.value for field in CalendarField if field.value not in hidden
            ],
        }
    )


class RecordedUpstream:
    """An upstream with recorded responses."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known: dict[Any, Response] = {}

    async def call(
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        content: bytes = b"",
        **_: Any,
    ) -> Response:
        """See `providers.http.client.Upstream.call`."""
        key = (segments, tuple(params), content)
        if key not in self._known:
            path = "/" + "/".join(quote(segment, safe="") for segment in segments)
            self._known[key] = self._answer(f"{path}?{urlencode(params)}", content)
        return self._known[key]

    async def follow(self, url: str, **_: Any) -> Response:
        """See `providers.http.client.Upstream.follow`."""
        if url not in self._known:
            self._known[url] = self._answer(url.removeprefix(self._corpus.base), b"")
        return self._known[url]

    def _answer(self, target: str, content: bytes) -> Response:
        reply = self._corpus.reply(target, content)
        return Response(200, {"content-type": reply.content_type}, reply.body)


class CalendarIds:
    """The ids of one calendar, in memory."""

    async def calendar_ids(self, places: Sequence[CalendarKey]) -> Mapping[CalendarKey, int]:
        """See `PublicIdStore`."""
        return {place: at for at, place in enumerate(places, 1)}

    async def calendars(self, calendar_ids: Sequence[int]) -> Mapping[int, CalendarKey]:
        """See `PublicIdStore`."""
        return {}

    async def store_events(self, events: Mapping[str, EventKey]) -> None:
        """See `PublicIdStore`."""

    async def event(self, event_id: str) -> EventKey | None:
        """See `PublicIdStore`."""


_NO_CALENDARS = MergedCalendars([], CalendarIds())


@dataclass(frozen=True)
class FixedMailbox:
    """A mailbox that returns a fixed page of records."""

    page: MailPage

    async def search(self, *_: Any, **__: Any) -> MailPage:
        """See `MergedMailbox.search`."""
        return self.page


class Inside:
    """
    A caller with its accounts.

    As in the gateway, the caller and its mailbox are kept, and every call gets a new context.
    """

    graph = Graph(schema.build())

    def __init__(
        self,
        *,
        corpora: Sequence[Corpus] = (Corpus(),),
        provider: str = "PROVIDER_B",
        hidden: Sequence[str] = (),
    ) -> None:
        self._settings = settings(hidden)
        self._grant = Grant.read(self._settings)
        self._mail: Any = []
        self._agenda: Any = []
        for at, corpus in enumerate(corpora, 1):
            upstream = cast("Upstream", RecordedUpstream(corpus))
            ports = PortRegistry(lambda _, up=upstream: up)  # type: ignore[misc]  # bound per turn
            for kind, accounts in (("email", self._mail), ("calendar", self._agenda)):
                info = _info(at, kind, provider, corpus)
                accounts.append((info, ports.open(info)))
        self._connections = tuple(info for info, _ in (*self._mail, *self._agenda))

    @property
    def hidden(self) -> frozenset[str]:
        """The schema coordinates that are hidden."""
        return masks.hidden(self._grant)

    @cached_property
    def caller(self) -> Caller:
        """The caller, kept as the authenticator keeps it until the next commit."""
        return Caller(
            token_id=1,
            token_name="benchmark",  # noqa: S106 - a name
            key_id="abcdefgh",
            expires_at=None,
            policy_rev=1,
            operator_id="operator",
            grant=self._grant,
            settings=self._settings,
            connections=self._connections,
        )

    def context(
        self,
        *,
        page: MailPage | None = None,
        kind: type[Context] = Context,
        surfaces: Container[Surface] = frozenset(Surface),
    ) -> Context:
        """
        Build the context of one request; *page* replaces the results of all mailboxes.

        As `Accounts.ports_for`, it opens the calendars only for a request that needs their surface.
        """
        own: dict[str, Any] = {
            "caller": self.caller,
            "request_id": "00000000-0000-0000-0000-000000000000",
            "mail": self._mailbox if page is None else cast("MergedMailbox", FixedMailbox(page)),
            "calendars": (
                MergedCalendars(self._agenda, CalendarIds())
                if Surface.CALENDAR in surfaces
                else _NO_CALENDARS
            ),
        }
        return kind(sealer=_KEYRING, now=_now, **own)

    @cached_property
    def _mailbox(self) -> MergedMailbox:
        return MergedMailbox(self._mail)

    def rest(
        self, name: str, variables: Mapping[str, Any], *, page: MailPage | None = None
    ) -> Callable[[], Awaitable[bytes]]:
        """Return a function that runs the REST document *name* once, from admission to bytes."""
        operation = self.graph.prepare_rest(document(name), omit_when_empty=OMITTED_WHEN_EMPTY)
        return self.running(operation, variables, page=page)

    def running(
        self,
        operation: RestOperation,
        variables: Mapping[str, Any],
        *,
        page: MailPage | None = None,
    ) -> Callable[[], Awaitable[bytes]]:
        """Return a function that runs *operation* once, from admission to bytes."""

        # With a fixed page only the work on its records is measured, not building the context.
        ready = None if page is None else self.context(page=page)
        surfaces = operation.surfaces

        async def run() -> bytes:
            context = ready or self.context(surfaces=surfaces)
            operation.admit(context)
            outcome = await operation.run(variables, context)
            if outcome.errors or outcome.data is None:
                raise AssertionError(outcome.errors)
            return encode(outcome.data["result"])

        return run

    async def records(self, limit: int) -> MailPage:
        """Return the page as records, with all fields but bodies."""
        context = self.context()
        pages: list[MailPage] = []

        class RecordingMailbox:
            async def search(self, *args: Any, **more: Any) -> MailPage:
                pages.append(await mail.search(*args, **more))
                return pages[-1]

        mail, context.mail = context.mail, cast("MergedMailbox", RecordingMailbox())
        operation = self.graph.prepare_rest(document("email/list_emails"))
        await operation.run({"limit": limit}, context)
        return pages[0]


def events_variables() -> Mapping[str, Any]:
    """Return variables that select all events."""
    return {
        "limit": 1000,
        "from": AGENDA_STARTS.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": AGENDA_ENDS.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _now() -> datetime:
    return NOON


def _info(at: int, kind: str, provider: str, corpus: Corpus) -> ConnectionInfo:
    return ConnectionInfo(
        id=at if kind == "email" else 1000 + at,
        resource_id=1,
        kind=kind,
        provider=provider,
        account_email=EMAIL if at == 1 else f"me{at}@home.example",
        base_url=corpus.base,
    )
