"""Calls through a proxy that opens tunnels, with a certificate authority of our own."""

import asyncio
import base64
import contextlib
import re

import pytest
from certificates import certificate

from providers.failures import Unreachable
from providers.http.client import Origins, Upstream
from providers.http.proxies import Proxies, Proxy, environment_tls_context

NAME = "upstream.example"  # resolved by the proxy alone
CREDENTIALS = "user:pass word"
AUTHORIZATION = f"Basic {base64.b64encode(CREDENTIALS.encode()).decode()}"
REFUSALS = {
    "wrong password": b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    "no HTTP": b"SSH-2.0-nothing\r\n\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\nx: " + b"x" * 20_000,
    "bytes behind the head": b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "nothing": b"",
}


class TunnelProxy:
    """Opens tunnels to *target* whatever is asked for, or gives *refusal*."""

    def __init__(self, target):
        self.target, self.asked, self.refusal = target, [], None

    async def serve(self, reader, writer):
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError):
            self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.refusal is not None:
                writer.write(self.refusal)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there, back = await asyncio.open_connection("127.0.0.1", self.target)
                await asyncio.gather(copy(reader, back), copy(there, writer))


async def copy(reader, writer):
    with contextlib.closing(writer), contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Return the path of a certificate of `NAME` that is its own authority, and its key."""
    public, private = certificate("proxied", NAME)
    path = tmp_path_factory.mktemp("proxies") / "own.pem"
    path.write_bytes(public + private)
    return path


@pytest.fixture
async def proxy(serve_tls, authority, monkeypatch):
    """A proxy to a TLS upstream; the environment names it and the upstream's authority."""
    tunnels = TunnelProxy(await serve_tls(authority))
    server = await asyncio.start_server(tunnels.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for variable in ("https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass%20word@127.0.0.1:{port}")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    environment_tls_context.cache_clear()
    yield tunnels
    environment_tls_context.cache_clear()
    server.close()
    await server.wait_closed()


async def call(url=f"https://{NAME}", *, times=1, **options):
    """Call as a process does that the environment configures; return the last status."""
    origins = Origins(tls=environment_tls_context(), proxies=Proxies.from_environment())
    upstream = Upstream(origins, url, connection=1)
    try:
        for _ in range(times):
            answer = await upstream.call("POST", "a", **options)
    finally:
        await origins.aclose()
    assert origins.transport.open == 0
    return answer.status


async def test_one_tunnel_serves_calls_in_a_row(proxy, stub):
    assert await call(times=3, content=b"x" * 1_000_000) == 200

    assert [len(asked.body) for asked in stub.asked] == [1_000_000] * 3
    assert stub.asked[0].headers["host"] == NAME
    assert "proxy-authorization" not in stub.asked[0].headers
    (request,) = proxy.asked
    assert request.startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n")
    assert re.findall(r"^proxy-authorization: (.*)\r$", request, re.MULTILINE) == [AUTHORIZATION]


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_a_refused_tunnel_is_reported_and_nothing_is_sent(proxy, stub, refusal):
    proxy.refusal = refusal
    with pytest.raises(Unreachable) as caught:
        await call(content=b"secret")

    assert caught.value.message == "The outbound proxy refused the connection."
    assert caught.value.sent is False
    assert stub.asked == []


async def test_the_certificate_is_that_of_the_upstream_not_of_the_proxy(proxy, stub):
    with pytest.raises(Unreachable) as caught:
        await call("https://another.example", content=b"secret")

    assert caught.value.sent is False
    assert proxy.asked != []
    assert stub.asked == []


async def test_an_unknown_authority_is_not_trusted(proxy, stub, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    environment_tls_context.cache_clear()
    with pytest.raises(Unreachable):
        await call()

    assert stub.asked == []


async def test_addresses_of_this_network_are_not_reached_through_the_proxy(proxy, monkeypatch):
    origins = Origins(tls=environment_tls_context(), proxies=Proxies.from_environment())
    upstream = Upstream(origins, f"https://{NAME}", connection=1, hosts=("10.0.0.1",))
    with pytest.raises(Unreachable):
        async with upstream.open_stream("GET", "https://10.0.0.1/file"):
            pass

    assert proxy.asked == []
    await origins.aclose()


@pytest.mark.slow
async def test_cancelled_tunnels_leave_no_connections(proxy):
    origins = Origins(tls=environment_tls_context(), proxies=Proxies.from_environment())
    upstream = Upstream(origins, f"https://{NAME}", connection=1, concurrency=10)
    for storm in range(15):
        calls = [asyncio.create_task(upstream.call("GET", "a")) for _ in range(10)]
        await asyncio.sleep(0.001 * storm)
        for pending in calls:
            pending.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert origins.transport.busy == 0

    assert (await upstream.call("GET", "a")).status == 200
    await origins.aclose()
    assert origins.transport.open == 0


@pytest.mark.parametrize(
    ("bypassed", "host", "direct"),
    [
        ("", "graph.microsoft.com", False),
        ("*", "graph.microsoft.com", True),
        ("microsoft.com", "graph.microsoft.com", True),
        (" .Microsoft.com ,other", "GRAPH.microsoft.com", True),
        ("soft.com", "graph.microsoft.com", False),
        ("graph.microsoft.com:443", "graph.microsoft.com", True),
        ("graph.microsoft.com:8443", "graph.microsoft.com", False),
        ("10.0.0.1", "10.0.0.1", True),
    ],
)
def test_named_hosts_are_called_directly(monkeypatch, bypassed, host, direct):
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", bypassed)
    proxy = Proxies.from_environment().proxy_for(host, 443)

    assert proxy == (None if direct else Proxy(host="proxy.example", port=3128))


@pytest.mark.parametrize("url", ["socks5://proxy.example:1080", "https://proxy.example", "http://"])
def test_another_kind_of_proxy_is_refused(url):
    with pytest.raises(ValueError, match="HTTPS_PROXY must be"):
        Proxy.parse(url)
