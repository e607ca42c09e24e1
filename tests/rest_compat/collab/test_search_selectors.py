"""Selectors of a search cannot read a hidden field, however they are written."""

from typing import get_args

import pytest

from graph.collab.search_selectors import WORDS_BY_SELECTOR, selectors
from policy.vocabulary import CollabField
from providers.connectors.collab.search import keyword_query
from sandbox.collab.search import keyword_query as sandbox_query
from sandbox.collab.search.index import SearchIndex

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = tuple(word for word in CollabField if word != "connection_id")  # the gateway's own
# Every way to write a condition; "S" stands for the selector.
SPELLINGS = (
    "S:x",
    "S: x",
    "S :x",
    "S\u00a0:\u00a0x",
    "S\t:x",
    "S=x",
    "S<>x",
    "S<2026-01-01",
    "S>=2026-01-01",
    "S:2026-01-01..2026-02-01",
    'S:"x y"',
    'S:"x"*',
    "S:x*",
    "S://x",
    "S:(x OR y)",
    "(S:x)",
    "keel (S:x)",
    "-S:x",
    "+S:x",
    "--S:x",
    "NOT S:x",
    "keel AND(S:x)",
    "keel OR S:x",
    "keel NEAR(3) S:x",
    "keel ONEAR(n=3) S:x",
    "keel XRANK(cb=100) S:x",
    '"keel"S:x',
    '"keel" S:x',
    'title:"a"S:x',
    "filename:S:x",
    "https://S:x",
    "\u201cS:x\u201d",
    '\u201c"S:x"\u201d',
    "S\uff1ax",
    "S\uff1dx",
    '"S":x',
    'x"S"=y',
)


def disguises(selector):
    """Yield other writings of a selector's name."""
    yield selector
    yield selector.upper()
    yield selector.title()
    yield "".join(chr(ord(letter) + 0xFEE0) for letter in selector)  # fullwidth
    yield selector.replace("s", "\u017f")  # the long s, which folds to s


def spellings(selector):
    """Yield queries that use a selector."""
    for name in disguises(selector):
        for spelling in SPELLINGS:
            yield spelling.replace("S", name)


@pytest.mark.parametrize("selector", [*WORDS_BY_SELECTOR, "refinablestring00", "un.known"])
async def test_a_selector_is_recognized_in_every_spelling(selector):
    for query in spellings(selector):
        names = list(selectors(query))
        # What is no name of the table needs every word.
        assert selector in names or not WORDS_BY_SELECTOR.keys() >= set(names), query
        assert names, query


@pytest.mark.parametrize(
    "text", ["https://x.example/a", "keel http://x.example", '"10:30" keel', '"author:jonas"', ":x"]
)
async def test_addresses_and_phrases_are_no_selectors(text):
    assert list(selectors(text)) == []


PROBES = ("S:x", "S ://x", "keel OR (S>=2026-01-01)", "S\uff1ax", "-S:x", "keel XRANK(cb=1) S:x")


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS, ids=str)
async def test_a_selector_of_a_hidden_field_is_refused_before_anything_is_searched(readonly, word):
    token = await readonly.token_with_fields(*(other for other in WORDS if other is not word))
    names = [name for name, words in WORDS_BY_SELECTOR.items() if word in words]
    readonly.forget_calls()

    for name in (names[:1] or []) + ["unknownname"]:
        for probe in PROBES:
            response = await readonly.get("/search", token, q=probe.replace("S", name))
            body = response.json()
            assert (response.status_code, body["error"]) == (403, "FIELD_NOT_VISIBLE"), probe
            assert str(word) in body["message"]

    assert readonly.calls() == []


def aliased(aliases):
    return {*aliases, *aliases.values()}


async def test_every_name_that_the_engines_know_has_its_words(readonly):
    """The sandbox's engine stands for upstream's; `keyword_query` searches selected sites."""
    index = SearchIndex().documents(readonly.world.sandbox.state.content)
    known = {name for document in index for name in document.indexed.fields}
    known |= aliased(sandbox_query._ALIASES) | aliased(keyword_query.ALIASES)
    known |= set(get_args(keyword_query.FieldName))

    assert known - set(WORDS_BY_SELECTOR) == set()
    for aliases in (sandbox_query._ALIASES, keyword_query.ALIASES):
        for alias, name in aliases.items():
            assert set(WORDS_BY_SELECTOR[name]) == set(WORDS_BY_SELECTOR[alias]), alias
