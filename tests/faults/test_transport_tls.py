"""The transport over TLS, with a certificate authority of our own."""

import asyncio
import ssl

import httpx
import pytest
from certificates import certificate

from providers.failures import Unreachable
from providers.http.client import Origins, Upstream
from providers.http.transport import PooledTransport, tls_context


@pytest.fixture(scope="module")
def server_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    files = {}
    for name, address in (("right", "127.0.0.1"), ("wrong", "127.0.0.2")):
        public, private = certificate(name, address)
        (folder / f"{name}.pem").write_bytes(public + private)
        files[name] = folder / f"{name}.pem"
    return files


def trusting(path):
    context = ssl.create_default_context(cafile=path)
    context.set_alpn_protocols(["http/1.1"])
    return context


@pytest.fixture
def secure(serve_tls, server_files):
    """Starts a TLS door to the stub; returns its URL and the protocols it agreed on."""

    async def start(name="right"):
        return f"https://127.0.0.1:{await serve_tls(server_files[name])}", serve_tls.agreed

    return start


async def test_one_handshake_serves_calls_in_a_row(secure, stub, server_files):
    url, agreed = await secure()
    origins = Origins(tls=trusting(server_files["right"]))
    upstream = Upstream(origins, url, connection=1)
    for _ in range(3):
        assert (await upstream.call("GET", "a")).status == 200
    async with upstream.stream("POST", "up", content=b"x" * 1_000_000) as answer:
        assert answer.status == 200

    assert agreed == ["http/1.1"]
    assert len(stub.asked[-1].body) == 1_000_000
    await origins.aclose()
    assert origins.transport.open == 0


@pytest.mark.slow
async def test_cancelled_handshakes_leak_no_connections(secure, server_files):
    url, _ = await secure()
    transport = PooledTransport(max_connections=5, tls=trusting(server_files["right"]))
    async with httpx.AsyncClient(transport=transport, base_url=url, timeout=5) as client:
        for storm in range(20):
            calls = [asyncio.create_task(client.get("/")) for _ in range(10)]
            await asyncio.sleep(0.0007 * storm)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            assert transport.busy == 0
        answers = await asyncio.gather(*(client.get("/") for _ in range(20)))

    assert {answer.status_code for answer in answers} == {200}
    assert transport.open == 0


@pytest.mark.parametrize(
    ("served", "trusted"),
    [("wrong", "wrong"), ("right", "wrong"), ("right", None)],
    ids=["another host's name", "an unknown authority", "no private authority at all"],
)
async def test_an_invalid_certificate_is_unreachable(secure, stub, server_files, served, trusted):
    url, _ = await secure(served)
    tls = tls_context() if trusted is None else trusting(server_files[trusted])
    origins = Origins(tls=tls)
    with pytest.raises(Unreachable) as caught:
        await Upstream(origins, url, connection=1).call("POST", "a", content=b"secret")

    assert caught.value.sent is False
    assert stub.asked == []
    await origins.aclose()


async def test_a_server_without_tls_is_unreachable(server_files):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    origins = Origins(tls=trusting(server_files["right"]))
    with pytest.raises(Unreachable) as caught:
        await Upstream(origins, url, connection=1).call("GET", "a")

    assert caught.value.sent is False
    await origins.aclose()
    server.close()
    await server.wait_closed()


def test_tls_is_set_up_once_and_checks_names():
    context = tls_context()

    assert context is tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
