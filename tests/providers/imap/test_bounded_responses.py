"""Responses of a server that are larger than the bounds, and what is kept of them."""

import asyncio

import pytest

from providers.imap import response_reader
from providers.imap.parsing import MAX_DEPTH, MAX_VALUES, Pieces, fetch_row
from providers.imap.replies import Reply
from providers.imap.response_reader import MAX_LINE, ResponseReader

STRUCTURE = b'("TEXT" "PLAIN" NIL NIL NIL "7BIT" 5 1)'


async def read(*responses, max_row=1000):
    """Read every response out of what a server sends."""
    stream = asyncio.StreamReader(limit=MAX_LINE)
    stream.feed_data(b"".join(responses))
    stream.feed_eof()
    reader = ResponseReader(stream)
    reader.begin()
    return [await reader.read(max_row) for _ in responses]


@pytest.mark.parametrize("size", [900, 5000, MAX_LINE + 5000, 3 * MAX_LINE])
async def test_the_rest_of_a_long_row_is_dropped(size):
    row = b"* 1 FETCH (UID 1 BODY[] {3}\r\nabc X " + b"a" * size + b")\r\n"

    first, second = await read(row, b"* 2 FETCH (UID 2)\r\n")

    assert first.is_cut is (size != 900)
    assert (first[:2], len(first[2])) == ([row[:24], b"abc"], min(size + 4, 976))
    assert (second, second.is_cut) == ([b"* 2 FETCH (UID 2)"], False)


@pytest.mark.parametrize("size", [5000, MAX_LINE + 5000])
async def test_literals_behind_the_end_of_a_row_are_dropped(size):
    row = b"* 1 FETCH (UID 1 " + b"a" * size + b" {7}\r\n) OK\r\n\r BODY[] {0}\r\n)\r\n"

    first, second = await read(row, b"x OK done\r\n")

    assert (first, first.is_cut) == ([row[:1000]], True)
    assert second == [b"x OK done"]


async def test_another_response_that_is_too_long_ends_the_connection():
    with pytest.raises(asyncio.LimitOverrunError):
        await read(b"* SEARCH " + b"1 " * MAX_LINE + b"\r\n")
    with pytest.raises(ValueError, match="too large"):
        await read(b"* LIST () {0}\r\n" * 2 + b"a" * (MAX_LINE - 10) + b"\r\n")


async def test_what_is_dropped_is_bounded(monkeypatch):
    monkeypatch.setattr(response_reader, "_MAX_DROPPED", 2 * MAX_LINE)
    row = b"* 1 FETCH (" + b"a" * MAX_LINE + b")\r\n"

    await read(row)
    with pytest.raises(ValueError, match="too large"):
        await read(row, row, row)


@pytest.mark.parametrize("depth", [MAX_DEPTH - 2, MAX_DEPTH, 5000])
def test_what_is_nested_too_deep_is_left_out(depth):
    nested = b"(" * depth + STRUCTURE + b' "MIXED")' * depth
    row = fetch_row([b"* 1 FETCH (BODYSTRUCTURE " + nested + b" UID 7)"])

    assert (row["UID"], row.is_cut) == (b"7", depth >= MAX_DEPTH)


def test_values_beyond_the_bound_are_left_out():
    row = fetch_row([b"* 1 FETCH (UID 7 X (" + b"()" * MAX_VALUES + b") FLAGS ())"])

    assert (row.keys(), row.is_cut) == ({"UID", "X"}, True)


def test_rows_of_one_message_are_cut_together():
    cut = Pieces([b"* 1 FETCH (UID 7 BODYSTRUCTURE ((("], is_cut=True)
    nameless = Pieces([b"* 2 FETCH (BODYSTRUCTURE ((("], is_cut=True)
    rows = Reply(b"OK", (cut, Pieces([b"* 1 FETCH (UID 7 FLAGS ())"]), nameless)).rows()

    assert rows[7].keys() == {"UID", "BODYSTRUCTURE", "FLAGS"}
    assert {uid: row.is_cut for uid, row in rows.items()} == {7: True, 0: True}


def test_a_row_without_a_uid_is_nobodys():
    assert Reply(b"OK", (Pieces([b"* 2 FETCH (FLAGS ())"]),)).rows() == {}


async def test_a_long_literal_of_one_of_many_rows_is_cut_and_the_row_goes_on():
    row = b"* 1 FETCH (UID 1 BODY[HEADER] {5000}\r\n" + b"a" * 5000 + b" FLAGS ())\r\n"

    (first,) = await read(row)
    (whole,) = await read(row, max_row=MAX_LINE)

    assert (first[1], first[2], first.is_cut) == (b"a" * 1000, b" FLAGS ())", False)
    assert whole[1] == b"a" * 5000
