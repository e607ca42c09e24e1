"""Any text of callers, strangers and upstreams is read in linear time."""

from contextlib import suppress

import pytest
from cpu_growth import super_linear

from policy.refusals import Refusal
from providers import search_text
from providers.connectors.boards import mapping as boards
from providers.connectors.collab.lists import item_filters
from providers.connectors.collab.search import keyword_query
from providers.connectors.provider_a import batch
from providers.failures import ProviderFailure
from providers.http.response import Response
from providers.http.retry_after import parse_retry_after
from providers.http.urls import BaseUrl
from providers.mail import addresses, compose, dates, original_message, parameters, quoting
from providers.ports.collab import InvalidFilter, InvalidSearch
from providers.timestamps import parse_utc
from rest_compat import body as rest_body

BASE = BaseUrl.parse("https://up.test/v1")
REFUSALS = (Refusal, ProviderFailure, InvalidFilter, InvalidSearch, ValueError)


def raw_message(head, tail=""):
    def parse(text):
        return original_message.parse((head + text + tail).encode("utf-8", "replace"), "PROVIDER_A")

    return parse


def batch_answer(text):
    headers = {"content-type": "multipart/mixed; boundary=b"}
    return batch._parse(Response(200, headers, text.encode("utf-8", "replace")))


READERS = {
    "folding": search_text.fold,
    "terms of a search": search_text.terms,
    "HTML to text": search_text.html_to_text,
    "text to HTML": quoting.text_to_html,
    "a comment": boards._plain_text,
    "keyword language": keyword_query.parse,
    "filter language": lambda text: item_filters.parse(text, {}),
    "encoded words": addresses.decode_words,
    "address header": addresses._parse,
    "date header": dates.parse,
    "an address to write to": compose._is_valid,
    "time": parse_utc,
    "Retry-After": lambda text: parse_retry_after(text, 0),
    "page link": lambda text: BASE.parse_page_link(f"https://up.test/v1/{text}"),
    "path segment": lambda text: BASE.join([text], [("q", text)]),
    "raw message": raw_message(""),
    "a content type": raw_message("Content-Type: multipart/mixed; ", "\r\n\r\n"),
    "an encoded parameter": raw_message(
        "Content-Disposition: attachment; filename*=punycode''a-", "\r\n\r\n"
    ),
    "an encoded charset": raw_message("Content-Type: text/plain; charset*=punycode''", "\r\n\r\n"),
    "parameters of an IMAP server": lambda text: parameters.join([("a*", f"punycode''{text}")]),
    "a quoted parameter": raw_message('Content-Disposition: attachment; a="', "\r\n\r\n"),
    "parts of a raw message": raw_message("Content-Type: multipart/mixed; boundary=b\r\n\r\n"),
    "answer to a batch": batch_answer,
    "body of a REST call": lambda text: rest_body.parse(text.encode("utf-8", "replace")),
}
UNITS = [
    *"(<&\"';,:=@%\\[]{}*-+/.a1 \n\t\0",
    *("((", "<a", "</", "<!--", "<script>", "</script", "<style>a", "<br>", "<body"),
    *("&#", "&#1", "&amp", "a ", '"a" ', "a:", "a:b ", "''", "not ", "OR a ", "a@b ", "a@b,"),
    *('"a" <a@b>, ', "=?utf-8?q?a?= ", "=?utf-8?b?!?= ", "=?", "\r\n", "\r\n ", "a: b\r\n"),
    *(";a=", ";a*0=b", '\\"', "--b\r\n", "--b\r\n\r\n", "\u0315\u0300", "e\u0301", "ก", "\ufdfa"),
    *('{"a":', "[1,", '{"a":1},', '"\\ud800",', "content-id: item-1\r\n", "../", "%62"),
]


@pytest.mark.slow  # it measures
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_reading_takes_linear_time(read):
    def call(text):
        with suppress(REFUSALS):
            read(text)

    slow = {}
    for unit in UNITS:
        growth = super_linear(call, lambda size, unit=unit: unit * (size // len(unit)))
        if growth is not None:
            slow[unit] = growth
    assert slow == {}


def test_folding_composes_and_keeps_marks():
    assert search_text.fold("E\u0301") == search_text.fold("é")
    marks = "\u0315\u0300" * 40
    assert [char for char in search_text.fold(f"a{marks}") if char == "\u0315"] == ["\u0315"] * 40
    assert search_text.fold("😀" * 40) == "😀" * 40


def test_a_long_character_reference_is_no_character():
    assert search_text.html_to_text(f"<p>a&#{'1' * 5000};b &#65;&amp;</p>") == "a\ufffdb A&"


def test_a_header_with_very_many_encoded_words_is_not_decoded():
    word = "=?utf-8?q?a?= "

    assert addresses.decode_words(word * 7000).strip() == "a" * 7000
    assert addresses.decode_words(word * 8000) == word * 8000


@pytest.mark.parametrize(("count", "name"), [(60, "a.pdf"), (70, "attachment")])
def test_very_many_parameters_of_a_part_are_not_read(count, name):
    parameters = ";x=y" * count
    content = (
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n"
        f"--b\r\nContent-Disposition: attachment{parameters}; filename=a.pdf\r\n\r\nx\r\n--b--"
    )
    _, files = raw_message("")(content)

    assert [file.name for file in files] == [name]


def test_a_part_number_of_thousands_of_digits_is_that_of_no_request():
    parts = batch_answer(f"--b\r\ncontent-id: item-{'1' * 5000}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{{}}")

    assert min(parts) > batch.MAX_PER_CALL
