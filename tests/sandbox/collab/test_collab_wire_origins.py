"""The second origin: in-process access, and no credentials sent to it."""

import httpx
import pytest

from providers.failures import Broken
from providers.http.client import Origins, Upstream
from providers.http.urls import BaseUrl
from sandbox.origins import other_origin


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ("http://127.0.0.1:8000/sandbox", "http://localhost:8000/sandbox"),
        ("http://localhost:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1", "http://localhost"),
        ("https://gateway.example/sandbox", "https://gateway.example/sandbox"),
    ],
)
def test_local_host_has_a_second_origin(base, other):
    assert other_origin(base) == other


@pytest.mark.parametrize(
    ("link", "is_admitted"),
    [
        ("http://localhost:8000/x", True),
        ("http://localhost:8001/x", False),
        ("https://localhost:8000/x", False),
        ("http://localhost/x", False),
        ("https://files.example/x", False),
    ],
)
def test_origin_is_compared_as_a_whole(link, is_admitted):
    root = BaseUrl.parse("http://127.0.0.1:8000/sandbox/collab")
    if is_admitted:
        assert str(root.parse_preauthenticated(link, {"http://localhost:8000"})) == link
    else:
        with pytest.raises(Broken):
            root.parse_preauthenticated(link, {"http://localhost:8000"})


class Token:
    scheme = "Bearer"

    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self, *, rejected: str | None = None) -> str:
        return self._text


async def test_link_is_followed_in_process_without_credentials(world):
    apps = {"http://sandbox.test": world.app, "http://content.test": world.app}
    origins = Origins(apps=apps)
    upstream = Upstream(
        origins,
        "http://sandbox.test/collab",
        connection=1,
        credentials=Token(world.token("Files.Read.All")),
        classify=lambda _answer: None,
    )
    place = ("v1.0", "drives", world.text.drive_id, "items", world.text.id, "content")
    answer = await upstream.call("GET", *place, accept=(302,))
    async with upstream.open_stream("GET", answer.headers["location"]) as streamed:
        content = b"".join([piece async for piece in streamed.chunks])
    with pytest.raises(Broken):
        async with upstream.open_stream("GET", "http://other.test/x"):
            pass
    await origins.aclose()

    assert content == b"varnish and oakum\n"


async def test_second_origin_serves_the_paths_of_the_first(world):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app)) as client:
        response = await client.get("http://content.test/collab/v1.0/sites/root")

    assert response.status_code == 401
