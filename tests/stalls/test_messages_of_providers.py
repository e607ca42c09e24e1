"""Very large messages and pages of JSON providers: the others are shown, and nothing stalls."""

import re
import time
from datetime import UTC, datetime

import httpx
import orjson
import pytest

from providers import registry
from providers.http.client import Origins
from providers.ports.calendar import EventSelection, Span
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailQuery

pytestmark = pytest.mark.stall
BASE = "https://provider.example"
WANTED = frozenset({"subject", "body", "attachments"})
SPAN = Span(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))


class Spent:
    """CPU time of the provider's answers, which are made in the gateway's own thread."""

    seconds = 0.0

    @classmethod
    def on(cls, respond):
        def timed(request):
            began = time.thread_time()
            try:
                return respond(request)
            finally:
                cls.seconds += time.thread_time() - began

        return timed


class Held:
    scheme = "Bearer"

    async def token(self, *, rejected=None):
        return "token"


def upstream(kind, provider, respond):
    """Return the connection of an account whose provider answers by a function."""
    info = ConnectionInfo(
        id=1, resource_id=1, kind=kind, provider=provider, account_email="a@b.example",
        base_url=BASE,
    )  # fmt: skip
    origins = Origins(transport=httpx.MockTransport(Spent.on(respond)))
    return info, registry.open_upstream(origins, info, Held())


def message(number, parts):
    """Return a message of Gmail with a body and this many files."""
    text = {"partId": "0", "mimeType": "text/plain", "filename": "", "body": {"data": "aGVsbG8"}}
    file = {"mimeType": "image/png", "filename": "a.png", "body": {"attachmentId": "a", "size": 9}}
    files = [{"partId": str(at), **file} for at in range(1, parts + 1)]
    return orjson.dumps(
        {
            "id": f"1004065c3b99b{number:03x}",
            "internalDate": str(1_800_000_000_000 - number),
            "payload": {
                "mimeType": "multipart/mixed",
                "headers": [{"name": "Subject", "value": f"Mail {number}"}],
                "parts": [text, *files],
            },
        }
    )


class Gmail:
    """A mailbox of 50 messages, of which some have very many parts."""

    def __init__(self, odd, parts):
        self.messages = [message(number, parts if number < odd else 1) for number in range(50)]
        self.by_id = {orjson.loads(message)["id"]: message for message in self.messages}
        self.batches = 0

    def __call__(self, request):
        if request.url.path.endswith("/messages"):
            listed = {"messages": [{"id": name} for name in self.by_id]}
            return httpx.Response(200, json=listed)
        if "batch" not in request.url.path:
            return httpx.Response(200, content=self.by_id[request.url.path.rsplit("/", 1)[1]])
        self.batches += 1
        names = re.findall(rb"GET /gmail/v1/users/me/messages/([^?]+)", request.content)
        parts = b"".join(
            b"--b\r\nContent-ID: <response-item-%d>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n%b\r\n"
            % (index, self.by_id[name.decode()])
            for index, name in enumerate(names)
        )
        headers = {"content-type": "multipart/mixed; boundary=b"}
        return httpx.Response(200, headers=headers, content=parts + b"--b--")


@pytest.mark.parametrize(("odd", "parts"), [(0, 1), (5, 10_000), (50, 10_000)])
async def test_mails_of_many_parts_are_poorer(stalls, odd, parts):
    answers = Gmail(odd, parts)
    info, connection = upstream("email", "PROVIDER_A", answers)
    port = registry.PortRegistry(lambda _: connection).open(info)

    async def read():
        page = await port.search(MailQuery(limit=50), after=None, projection=WANTED)
        return [(email.subject, email.body, len(email.attachments)) for email in page.emails]

    mails = await stalls.measure(
        f"Gmail: {odd} of 50 mails of {parts:,} parts", read, excluded=lambda: Spent.seconds
    )

    most = {True: min(parts, 499), False: 1}
    assert mails == [(f"Mail {n}", "hello", most[n < odd]) for n in range(50)]


async def test_pages_of_events_that_are_too_large_are_read_in_smaller_ones(stalls):
    guests = [{"email": f"g{n}@b.example", "responseStatus": "accepted"} for n in range(100)]
    times = {
        "start": {"dateTime": "2026-11-20T09:00:00Z"},
        "end": {"dateTime": "2026-11-20T10:00:00Z"},
    }
    sizes = []

    def answer(request):
        size, first = (
            int(request.url.params["maxResults"]),
            int(request.url.params.get("pageToken", 0)),
        )
        sizes.append(size)
        numbers = range(first, min(first + size, 2000))
        items = [
            {"id": f"e{n}", "summary": f"Event {n}", **times, "attendees": guests} for n in numbers
        ]
        page = {"items": items}
        if numbers.stop < 2000:
            page["nextPageToken"] = str(numbers.stop)
        return httpx.Response(200, json=page)

    info, connection = upstream("calendar", "PROVIDER_A", answer)
    port = registry.PortRegistry(lambda _: connection).open(info)
    selection = EventSelection(
        span=SPAN, include_cancelled=False, projection=frozenset({"title", "attendees"})
    )

    events = await stalls.measure(
        "Google Calendar: 2,000 events of 100 guests",
        lambda: port.events("primary", selection),
        excluded=lambda: Spent.seconds,
    )

    assert [event.title for event in events.events] == [f"Event {n}" for n in range(2000)]
    assert sizes[:9] == [2500, *[250] * 8]
