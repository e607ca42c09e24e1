"""R1 to R4, and a page of one mail: from upstream bytes or from records to the response bytes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from benchmarks.baselines import fastapi_app, hand_written, models, strawberry_router
from benchmarks.baselines.fastapi_app import EXPAND_B, SELECT_B, SELECT_EVENT, Sends
from benchmarks.baselines.stores import Token
from benchmarks.corpus import AGENDA_ENDS, AGENDA_STARTS, CALENDAR, EVENTS_PER_ANSWER, PAGE, Corpus
from benchmarks.inside import EMAIL, EVENT_MASK, MAIL_MASK, Inside, events_variables
from benchmarks.table import Promise, Table
from providers.mail.merging import MailPage
from rest_compat.documents import document

Body = Callable[[], Awaitable[bytes]]
FASTAPI = "FastAPI + pydantic"
BY_HAND = "dicts by hand + orjson"
STRAWBERRY = "Strawberry with its caches"
LIST = "email/list_emails"
EVENTS = "calendar/list_events"
_UNMASKED = Token(1)
_MASKED_MAIL = Token(
    1,
    frozenset({"bcc", "attachments", "bodyPreview"}),
    "Hidden email fields: bcc, body_preview, attachments. Visible email fields may still show "
    "hidden ones: body_preview (in body), attachments (in body).",
)
_MASKED_EVENTS = Token(
    1,
    frozenset({"description", "location", "joinUrl"}),
    "Hidden event fields: description, location, join_url. Visible event fields may still show "
    "hidden ones: location (in title), join_url (in title).",
)


def tables(loop: asyncio.AbstractEventLoop) -> Sequence[Table]:
    """Return the five tables."""
    return (_pages(), _page_of_one(), _events(), *_from_records(loop))


# -- R1 and R2: bytes in, bytes out


def our_page(*, masked: bool, corpora: Sequence[Corpus] = (), limit: int = PAGE) -> Body:
    """Return a function that builds a page with the gateway."""
    accounts = corpora or (Corpus(selective=False),)
    inside = Inside(corpora=accounts, hidden=MAIL_MASK if masked else ())
    return inside.rest(LIST, {"limit": limit})


def their_page(
    *,
    masked: bool,
    corpora: Sequence[Corpus] = (),
    limit: int = PAGE,
    loads: Callable[[bytes], Any] = json.loads,
) -> Body:
    """Return a function that builds the same page with FastAPI, decoding by *loads*."""
    answers = [page_bytes(corpus) for corpus in corpora or (Corpus(),)]
    token = _MASKED_MAIL if masked else _UNMASKED
    send = Sends(models.EmailPage)

    async def run() -> bytes:
        decoded = [loads(answer) for answer in answers]
        return await send(fastapi_app.page_b(decoded, token, limit))

    return run


def page_bytes(corpus: Corpus) -> bytes:
    """Return a mailbox's page as provider B sends it."""
    return corpus.reply(f"/v1.0/me/messages?$select={SELECT_B}&$expand={EXPAND_B}").body


def our_events(*, masked: bool) -> Body:
    """Return a function that builds the page of events with the gateway."""
    inside = Inside(corpora=[Corpus(selective=False)], hidden=EVENT_MASK if masked else ())
    return inside.rest(EVENTS, events_variables())


def their_events(*, masked: bool, loads: Callable[[bytes], Any] = json.loads) -> Body:
    """Return a function that builds the same page with FastAPI, decoding by *loads*."""
    corpus = Corpus()
    path = f"/v1.0/me/calendars/{CALENDAR}/calendarView?$select={SELECT_EVENT}"
    answers = [
        corpus.reply(f"{path}&$skip={at}").body for at in range(0, corpus.events, EVENTS_PER_ANSWER)
    ]
    token = _MASKED_EVENTS if masked else _UNMASKED
    send = Sends(models.EventPage)
    place = f"1001|{CALENDAR}"

    async def run() -> bytes:
        decoded = [loads(answer) for answer in answers]
        page = fastapi_app.events_b(decoded, token, place, EMAIL, (AGENDA_STARTS, AGENDA_ENDS))
        return await send(page)

    return run


def _pages() -> Table:
    selective = Inside(hidden=MAIL_MASK).rest(LIST, {"limit": PAGE})
    return Table(
        "A page of 50 mails, upstream's bytes in, the answer's out",
        {
            FASTAPI: their_page(masked=False),
            f"{FASTAPI}, masked": their_page(masked=True),
            f"{FASTAPI}, decoding with orjson": their_page(masked=False, loads=orjson.loads),
            "ours": our_page(masked=False),
            "ours, masked": our_page(masked=True),
            "ours, masked, upstream sends less": selective,
        },
        [
            Promise("R1", "ours", FASTAPI, 0.40),
            Promise("R1 masked", "ours, masked", f"{FASTAPI}, masked", 0.45),
        ],
    )


def _page_of_one() -> Table:
    corpora = (Corpus(size=1, selective=False),)
    return Table(
        "A page of one mail, upstream's bytes in, the answer's out",
        {
            FASTAPI: their_page(masked=False, corpora=corpora, limit=1),
            f"{FASTAPI}, masked": their_page(masked=True, corpora=corpora, limit=1),
            "ours": our_page(masked=False, corpora=corpora, limit=1),
            "ours, masked": our_page(masked=True, corpora=corpora, limit=1),
        },
        [
            Promise("page of one mail", "ours", FASTAPI, 3.0),
            Promise("page of one mail, masked", "ours, masked", f"{FASTAPI}, masked", 3.5),
        ],
    )


def _events() -> Table:
    return Table(
        "1,000 events, upstream's bytes in, the answer's out",
        {
            FASTAPI: their_events(masked=False),
            f"{FASTAPI}, masked": their_events(masked=True),
            f"{FASTAPI}, decoding with orjson": their_events(masked=False, loads=orjson.loads),
            "ours": our_events(masked=False),
            "ours, masked": our_events(masked=True),
        },
        [
            Promise("R2", "ours", FASTAPI, 0.30),
            Promise("R2 masked", "ours, masked", f"{FASTAPI}, masked", 0.30),
        ],
    )


# -- R3 and R4: records in memory


def by_strawberry(inside: Inside, page: MailPage, text: str, variables: Mapping[str, Any]) -> Body:
    """Return a function that executes a document with Strawberry and its caches."""
    schema = strawberry_router.schema()
    context = inside.context(page=page)

    async def run() -> bytes:
        outcome = await schema.execute(text, variable_values=dict(variables), context_value=context)
        if outcome.errors or outcome.data is None:
            raise AssertionError(outcome.errors)
        return orjson.dumps(outcome.data["result"])

    return run


def _from_records(loop: asyncio.AbstractEventLoop) -> Sequence[Table]:
    variables = {"limit": PAGE}
    plain, masked = Inside(), Inside(hidden=MAIL_MASK)
    page = loop.run_until_complete(plain.records(PAGE))

    async def by_hand() -> bytes:
        return hand_written.page(page, frozenset(), None)

    hidden = masked.hidden

    async def by_hand_masked() -> bytes:
        return hand_written.page(page, hidden, _MASKED_MAIL.access_info)

    ours = plain.rest(LIST, variables, page=page)
    ours_masked = masked.rest(LIST, variables, page=page)
    text = document(LIST)
    return (
        Table(
            "A page of 50 mails from records in memory, against hand-written dicts",
            {
                BY_HAND: by_hand,
                f"{BY_HAND}, masked": by_hand_masked,
                "ours": ours,
                "ours, masked": ours_masked,
            },
            [
                Promise("R3", "ours", BY_HAND, 0.80),
                Promise("R3 masked", "ours, masked", f"{BY_HAND}, masked", 0.90),
            ],
        ),
        Table(
            "The same document from records in memory, against Strawberry",
            {
                STRAWBERRY: by_strawberry(plain, page, text, variables),
                f"{STRAWBERRY}, masked": by_strawberry(masked, page, text, variables),
                "ours": ours,
                "ours, masked": ours_masked,
            },
            [
                Promise("R4", "ours", STRAWBERRY, 0.05),
                Promise("R4 masked", "ours, masked", f"{STRAWBERRY}, masked", 0.05),
            ],
        ),
    )
