"""Growth of a page's cost: by its size, by mailboxes, by selected and by masked fields."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import accumulate

from benchmarks.bodies import LIST, our_page, their_page
from benchmarks.corpus import PAGE, Corpus
from benchmarks.inside import Inside
from benchmarks.rounds import Effort, Run, measure
from benchmarks.table import Growth
from policy.vocabulary import EmailField

SIZES = (1, 10, 25, 50)
MAILBOXES = (1, 2, 5, 10, 20, 50)
# Selections of a message, in steps, and the number of fields that each step adds.
SELECTIONS = (
    ("id", 1),
    ("subject receivedAt", 2),
    ("isRead threadId provider", 3),
    ("from { email name } bodyPreview labels importance sentAt hasAttachments", 6),
    ("to { email name } cc { email name } bcc { email name } body bodyType", 5),
    ("attachments { id name contentType size isInline }", 1),
)
OURS, THEIRS = "ours", "FastAPI + pydantic"


def tables(loop: asyncio.AbstractEventLoop, effort: Effort) -> Iterator[Growth]:
    """Yield the measured tables one after the other."""
    yield _grown(loop, effort, "By the size of the page", "mails on the page", _by_size())
    yield _grown(loop, effort, "By mailboxes, a page of 50 of them all", "mailboxes", _by_mailbox())
    yield _grown(loop, effort, "By the fields asked for, a page of 50", "fields", _by_field())
    yield _grown(
        loop,
        effort,
        "By the fields hidden, a page of 50; they are not fetched",
        "fields hidden",
        _by_mask(),
    )


def _grown(
    loop: asyncio.AbstractEventLoop,
    effort: Effort,
    title: str,
    by: str,
    points: Iterator[tuple[int, Mapping[str, Run]]],
) -> Growth:
    growth = Growth(title, by)
    for size, variants in points:
        for name, micros in measure(loop, variants, effort).micros.items():
            growth.lines.setdefault(name, []).append((size, micros))
    return growth


def _by_size() -> Iterator[tuple[int, Mapping[str, Run]]]:
    for size in SIZES:
        corpora = (Corpus(size=size),)
        yield (
            size,
            {
                OURS: our_page(masked=False, corpora=corpora),
                THEIRS: their_page(masked=False, corpora=corpora),
            },
        )


def _by_mailbox() -> Iterator[tuple[int, Mapping[str, Run]]]:
    for count in MAILBOXES:
        corpora = [Corpus(seed=at) for at in range(count)]
        yield (
            count,
            {
                OURS: our_page(masked=False, corpora=corpora),
                THEIRS: their_page(masked=False, corpora=corpora),
            },
        )


def _by_field() -> Iterator[tuple[int, Mapping[str, Run]]]:
    inside = Inside()
    texts = accumulate((text for text, _ in SELECTIONS), lambda text, more: f"{text} {more}")
    counts = accumulate(count for _, count in SELECTIONS)
    for count, text in zip(counts, texts, strict=True):
        query = f"{{ result: emails(limit: {PAGE}) {{ emails {{ {text} }} }} }}"
        yield count, {OURS: _running(inside, query)}


def _by_mask() -> Iterator[tuple[int, Mapping[str, Run]]]:
    words = [field.value for field in EmailField]
    for count in range(0, len(words) + 1, 3):
        inside = Inside(hidden=words[:count])
        yield count, {OURS: inside.rest(LIST, {"limit": PAGE})}


def _running(inside: Inside, text: str) -> Callable[[], Awaitable[bytes]]:
    return inside.running(inside.graph.prepare_rest(text), {})
