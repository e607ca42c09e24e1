"""URLs that are assembled from segments are the ones that httpx reads from the same text."""

from urllib.parse import parse_qsl

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.failures import Missing
from providers.http.urls import BaseUrl

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SEGMENTS = st.lists(TEXT.filter(lambda text: text not in ("", ".", "..")), min_size=1, max_size=3)
PARAMS = st.lists(st.tuples(TEXT, TEXT), max_size=3)
BASES = ("http://127.0.0.1:8000/sandbox/provider-a", "https://Upstream.example", "http://[::1]:81")


@given(st.sampled_from(BASES), SEGMENTS, PARAMS)
def test_an_assembled_url_equals_the_one_that_httpx_parses(base, segments, params):
    url = BaseUrl.parse(base).join(segments, params)

    read = httpx.URL(str(url))
    assert url == read
    assert url.raw_path == read.raw_path
    assert (url.scheme, url.host, url.port) == (read.scheme, read.host, read.port)
    assert parse_qsl(url.query.decode(), keep_blank_values=True) == params
    assert len(url.raw_path.partition(b"?")[0].split(b"/")) == (
        len(httpx.URL(base).raw_path.rstrip(b"/").split(b"/")) + len(segments)
    )


def test_an_id_that_no_url_can_hold_is_missing():
    with pytest.raises(Missing):
        BaseUrl.parse("https://upstream.example").join(["x" * 70_000], ())
