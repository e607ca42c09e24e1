"""Ids and links become upstream URLs without changing what is called."""

from urllib.parse import unquote

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from providers.failures import Broken, Missing
from providers.http.client import Origins, Upstream
from providers.http.urls import BaseUrl

BASE = "https://up.test/v1.0"


class Recording(httpx.AsyncBaseTransport):
    def __init__(self) -> None:
        self.urls: list[httpx.URL] = []

    async def handle_async_request(self, request):
        self.urls.append(request.url)
        return httpx.Response(200, content=b"{}")


@given(st.text(max_size=60))
@example("..")
@example(".")
@example("")
@example("../../users")
@example("a/b")
@example("a?x=1")
@example("a#f")
@example("%2e%2e")
@example("%2F..%2F")
@example("..\\..")
@example("root:/Secret/x.xlsx:")
@example("a\r\nHost: evil")
@example("\ud800")
@example("@evil.test")
@example("//evil.test")
def test_an_id_is_exactly_one_segment(text):
    base_url = BaseUrl.parse(BASE)
    try:
        url = base_url.join(["me", "messages", text, "body"], [])
    except Missing:
        assert text in ("", ".", "..") or any("\ud800" <= sign <= "\udfff" for sign in text)
        return

    segments = url.raw_path.decode().split("/")
    assert (url.scheme, url.host, url.port, url.userinfo) == ("https", "up.test", None, b"")
    assert len(segments) == 6
    assert segments[:4] == ["", "v1.0", "me", "messages"]
    assert unquote(segments[4]) == text
    assert segments[5] == "body"
    assert (url.query, url.fragment) == (b"", "")


@given(st.lists(st.tuples(st.text(max_size=10), st.text(max_size=20)), max_size=4))
def test_parameters_never_leave_the_query(pairs):
    if any("\ud800" <= sign <= "\udfff" for pair in pairs for text in pair for sign in text):
        return
    url = BaseUrl.parse(BASE).join(["a"], pairs)

    assert url.path == "/v1.0/a"
    assert url.fragment == ""
    assert [tuple(map(unquote, pair.split("=", 1))) for pair in _pairs(url)] == pairs


def _pairs(url):
    query = url.query.decode()
    return query.split("&") if query else []


async def test_a_dot_segment_is_not_called():
    transport = Recording()
    upstream = Upstream(Origins(transport=transport), BASE, connection=1)
    for segment in ("", ".", ".."):
        with pytest.raises(Missing):
            await upstream.call("GET", "me", segment)

    assert transport.urls == []


@given(st.text(alphabet="abc:/@?#%.\\-_[] \t\n1269ef", max_size=40))
@example("https://up.test/v1.0/next")
@example("https://up.test:443/v1.0/next")
@example("https://up.test@evil.test/v1.0/next")
@example("https://up.test/v1.0/a/../../x")
@example("https://up.test/v1.0x/next")
@example("https://up.test/v1.0/%252e%252e/x")
@example("http://up.test/v1.0/next")
@example("https://UP.test/v1.0/next")
def test_a_page_link_must_lie_under_the_base_url(text):
    for link in (text, f"https://up.test/v1.0/{text}", f"https://up.test{text}"):
        try:
            url = BaseUrl.parse(BASE).parse_page_link(link)
        except Broken:
            continue
        path = url.raw_path.decode()
        assert (url.scheme, url.host, url.port, url.userinfo) == ("https", "up.test", None, b"")
        assert path == "/v1.0" or path.startswith(("/v1.0/", "/v1.0?"))
        assert ".." not in unquote(unquote(path.partition("?")[0])).split("/")


GOOD_BASES = {
    "https://up.test": ("https://up.test:443", ""),
    "https://up.test/": ("https://up.test:443", ""),
    "http://127.0.0.1:8080/sandbox/provider-a/": ("http://127.0.0.1:8080", "/sandbox/provider-a"),
}


@pytest.mark.parametrize(("base", "read"), GOOD_BASES.items(), ids=GOOD_BASES)
def test_a_base_url_is_an_origin_and_a_prefix(base, read):
    base_url = BaseUrl.parse(base)

    assert (base_url.origin, base_url.prefix) == read


@pytest.mark.parametrize(
    "base",
    [
        "",
        "up.test",
        "/v1.0",
        "ftp://up.test",
        "https://",
        "https://user@up.test",
        "https://user:secret@up.test",
        "https://up.test/?a=b",
        "https://up.test/?",
        "https://up.test/#f",
        "https://up.test/a b",
        "https://up.test/%2e%2e/a",
        "https://up.test\\@evil.test",
        "https://up.test:99999",
    ],
)
def test_an_invalid_base_url_is_refused(base):
    with pytest.raises(ValueError, match="URL"):
        BaseUrl.parse(base)


DOWNLOADS = {
    "https://files.cdn.test/a?sig=1%2B2": True,
    "https://exact.test/a": True,
    "https://up.test/v2/other": True,
    "https://cdn.test/a": False,
    "https://evilcdn.test/a": False,
    "https://files.cdn.test:8443/a": False,
    "http://files.cdn.test/a": False,
    "https://exact.test.evil.test/a": False,
    "https://a@exact.test/a": False,
    "http://169.254.169.254/latest": False,
    "https://127.0.0.1/a": False,
}


@pytest.mark.parametrize(("link", "allowed"), DOWNLOADS.items(), ids=DOWNLOADS)
async def test_a_download_leads_only_to_known_hosts(link, allowed):
    transport = Recording()
    upstream = Upstream(
        Origins(transport=transport), BASE, connection=1, hosts=(".cdn.test", "exact.test")
    )
    if not allowed:
        with pytest.raises(Broken):
            upstream.open_stream("GET", link)
        assert transport.urls == []
        return
    async with upstream.open_stream("GET", link) as answer:
        assert answer.status == 200

    assert [str(url) for url in transport.urls] == [link]
