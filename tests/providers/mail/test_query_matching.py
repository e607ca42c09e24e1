"""The meaning of mail filters, also when a mailbox is scanned page by page."""

from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_calls import PythonCalls

from providers import search_text
from providers.connectors.imap import search_criteria
from providers.failures import Broken, Throttled
from providers.mail import query_matching, scanning
from providers.mail.scanning import Page
from providers.ports.mail import MailPosition, MailQuery
from providers.records.base import from_epoch_ms
from providers.records.mail import Email, Participant

MAIL = Email(
    id="1",
    provider="PROVIDER_A",
    subject="Straße & Überblick: 日本語の件名 e\u0301tude",
    from_=Participant(email="Ann@North.example", name="Ann O'Author"),
    to=(Participant(email="bob@south.example"),),
    body="<p>Toast</p><script>hidden()</script><style>p{}</style> &amp; jam 🎉✨ हिन्दी ภาษาไทย",
    body_type="html",
)

WORDS = {
    "a word": ("toast", True),
    "the beginning of a word": ("toa", True),
    "not the end of one": ("oast", False),
    "sharp s": ("STRASSE", True),
    "an umlaut": ("überblick", True),
    "a composed accent": ("\u00e9tude", True),
    "a script without blanks": ("件名", True),
    "an emoji": ("🎉", True),
    "an emoji after another": ("✨", True),
    "emojis in another order": ("✨🎉", False),
    "a word with vowel signs": ("हिन्दी", True),
    "letters without their vowel signs": ("ह न", False),
    "words without blanks and with vowel signs": ("ไทย", True),
    "an entity": ('"toast jam"', True),
    "no markup": ("script", False),
    "no hidden text": ("hidden", False),
    "a name with an apostrophe": ("o'author", True),
    "an address": ("ann@north.example", True),
    "an open quote": ('"toast', True),
    "a phrase over two fields": ('"toast ann"', False),
    "words in two fields": ("toast ann", True),
    "only punctuation": ("-- &", False),
}


@pytest.mark.parametrize(("text", "expected"), WORDS.values(), ids=WORDS.keys())
def test_words_match_message_text(text, expected):
    query = MailQuery(text=text, text_fields=query_matching.TEXT_FIELDS)

    assert query_matching.Matcher(query, text=True)(MAIL) is expected


SENDERS = {
    "the beginning of the name": ("an", True),
    "a later word of the name": ("o'au", True),
    "all words of the name": ("ANN O'AUTHOR", True),
    "words in another order": ("author ann", False),
    "the end of a word": ("uthor", False),
    "the beginning of the address": ("ann@", True),
    "the domain without its sign": ("north", False),
    "only punctuation": ("--", False),
}


@pytest.mark.parametrize(("sender", "expected"), SENDERS.values(), ids=SENDERS.keys())
def test_senders_match_by_their_beginning(sender, expected):
    assert query_matching.Matcher(MailQuery(sender=sender), text=False)(MAIL) is expected


def test_a_name_without_blanks_matches_anywhere():
    author = Participant(email="taro@east.example", name="山田太郎")
    mail = Email(id="1", provider="PROVIDER_A", from_=author)

    assert query_matching.Matcher(MailQuery(sender="太郎"), text=False)(mail)


MARKUP = {
    "a comment with a tag inside": ("a<!-- b <script> -->c", "ac"),
    "an element in other cases": ("a<SCRIPT>b</script\n>c", "ac"),
    "an element that is never closed": ("a<style>b<script>c</script>d", "abd"),
    "a tag that is never closed": ("a <b", "a <b"),
    "inline elements": (
        "<span>In</span><b>voice</b> no<wbr>tification&shy;s",
        "Invoice notification\xads",
    ),
    "blocks": ("<p>a</p>b<div>c</div><ul><li>d<li>e</ul>f<br>g", "a b c d e f g"),
    "cells": ("<table><tr><td>a<td>b</tr></table>", "a b"),
    # Each of them took minutes, since every opening looked for its end.
    "many openings": ("<head>" * 100_000 + "a", "a"),
    "many comments": ("<!--" * 100_000, "<!--" * 100_000),
    "many brackets": ("<" * 400_000, "<" * 400_000),
}


@pytest.mark.parametrize(("markup", "text"), MARKUP.values(), ids=MARKUP.keys())
def test_markup_reads_as_its_text(markup, text):
    assert " ".join(search_text.html_to_text(markup).split()) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [("a<style>b { c: d", "a"), ("<p>a</p><!-- b", "a"), ("a <a href='htt", "a"), ("a", "a")],
)
def test_what_is_cut_is_not_visible(markup, text):
    assert search_text.html_to_text(markup, is_cut=True).strip() == text


def test_blocks_begin_lines():
    markup = "<p>One\nparagraph.</p><p>Next</p><ul><li>a</li><li>b</li></ul>c<br>d<pre>e\nf</pre>"

    assert search_text.html_to_text(markup).split("\n") == [
        "One paragraph.",
        "Next",
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी  ที่", ("हिन्दी", "ที่")),
        ("שָׁלוֹם", ("שָׁלוֹם",)),
        ("🎉", ()),
        ('jam🎉 "toast 🎉✨ jam"', ("jam", "toast")),
    ],
)
def test_upstream_terms_are_whole_words_without_emoji(text, expected):
    assert search_text.upstream_terms(text) == expected


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("a@b", True),
        ("a@b.example", True),
        ("@b.example", False),
        ("a@", False),
        ("a b@c", False),
        ("a@b@c", False),
        ("ann", False),
    ],
)
def test_a_whole_address_is_distinguished_from_a_part(value, address):
    assert query_matching.is_address(value) is address


def test_only_checked_attributes_are_needed():
    query = MailQuery(
        sender="a", recipient="b", subject="c", label="trash", text="x", text_fields={"subject"}
    )

    assert query_matching.needed_attributes(query, text=False) == {"from_", "to", "cc", "subject"}
    assert query_matching.needed_attributes(MailQuery(label="x", unread=True), text=True) == {
        "labels",
        "is_read",
    }
    assert query_matching.needed_attributes(MailQuery(), text=True) == frozenset()


def mail(received_ms, name):
    return Email(id=name, provider="PROVIDER_A", received_at=from_epoch_ms(received_ms))


async def paged(entries, size, *, failing=None):
    """Yield pages in upstream's order: newest first, ties in any order."""
    order = sorted(entries, key=lambda entry: -entry[0])
    for number, at in enumerate(range(0, max(len(order), 1), size)):
        if number == failing:
            raise Throttled(1)
        piece = order[at : at + size]
        yield Page(
            emails=[mail(*entry) for entry in reversed(piece)],
            floor_ms=min((ms for ms, _ in piece), default=None),
            last=at + size >= len(order),
        )


ENTRIES = st.lists(
    st.tuples(st.integers(0, 9), st.text("abcdef", min_size=1, max_size=3)),
    max_size=60,
    unique_by=lambda entry: entry[1],
)


@given(ENTRIES, st.integers(1, 9), st.integers(1, 12), st.sets(st.sampled_from("abcdef")))
async def test_reading_from_position_to_position_returns_matches_in_order(
    entries, size, limit, letters
):
    async def keep(emails):
        return [email for email in emails if email.id[0] in letters]

    messages, after = [], None
    for _ in range(200):
        result = await scanning.scan(paged(entries, size), after=after, limit=limit, keep=keep)
        assert len(result.emails) <= limit
        messages += result.emails
        if result.exhausted:
            break
        moved = result.scanned_to or scanning.position(result.emails[-1])
        assert after is None or moved.rank > after.rank
        after = moved

    expected = sorted((-ms, name) for ms, name in entries if name[0] in letters)
    assert [scanning.position(email).rank for email in messages] == expected


async def test_a_throttle_after_some_pages_ends_the_scan_at_its_position():
    entries = [(ms, f"m{ms:02}") for ms in range(30)]

    async def keep(emails):
        return []

    result = await scanning.scan(paged(entries, 10, failing=1), after=None, limit=5, keep=keep)

    assert (result.emails, result.exhausted) == ((), False)
    assert result.scanned_to == MailPosition(21, "~")


async def test_a_throttle_at_once_is_raised():
    async def keep(emails):
        return emails

    with pytest.raises(Throttled):
        await scanning.scan(paged([], 10, failing=0), after=None, limit=5, keep=keep)


async def test_a_scan_of_a_slow_upstream_ends_after_a_page_with_progress(monkeypatch):
    monkeypatch.setattr(scanning, "MAX_SECONDS", -1)

    async def keep(emails):
        return []

    entries = [(ms, f"m{ms:02}") for ms in range(30)]
    result = await scanning.scan(paged(entries, 10), after=None, limit=5, keep=keep)

    assert result.scanned_to == MailPosition(21, "~")


async def test_unchecked_messages_are_read_again():
    entries = [(ms, f"m{ms:02}") for ms in range(30)]
    calls = []

    async def keep(emails):
        calls.append(len(emails))
        if len(calls) == 2:
            raise Throttled(1)
        return []

    result = await scanning.scan(paged(entries, 10), after=None, limit=5, keep=keep)

    assert result.scanned_to == MailPosition(21, "~")


async def test_other_failures_are_raised_at_any_time():
    async def keep(emails):
        raise Broken

    pages = paged([(1, "a")], 10)
    with pytest.raises(Broken):
        await scanning.scan(pages, after=None, limit=5, keep=keep)
    async with aclosing(pages):
        assert await anext(pages, None) is None  # closed


def test_a_domain_that_is_none_is_not_encoded():
    """The encoding of a text that fills a request would hold the process."""
    query = MailQuery(limit=1, sender="a@" + "é" * 60_000, recipient="ada@bücher.example")
    with PythonCalls() as calls:
        parts = search_criteria.criteria(query)

    assert calls.count < 2_000
    assert '"ada@xn--bcher-kva.example"' in parts
