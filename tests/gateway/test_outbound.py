"""A process calls upstreams as its settings and the usual environment variables say."""

import httpx
import pytest

from gateway.infrastructure import open_origins
from gateway.settings import NotConfigured, Settings
from providers.http.client import Upstream
from providers.http.proxies import environment_tls_context


@pytest.fixture(autouse=True)
def _other_environment(monkeypatch):
    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(variable, raising=False)
    environment_tls_context.cache_clear()
    yield
    environment_tls_context.cache_clear()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("HTTPS_PROXY", "socks5://127.0.0.1:1080", "HTTPS_PROXY must be http://host:port."),
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE or SSL_CERT_DIR cannot be read."),
    ],
)
def test_a_variable_that_cannot_be_used_ends_the_start(monkeypatch, variable, value, sentence):
    monkeypatch.setenv(variable, value)
    with pytest.raises(NotConfigured, match=sentence):
        open_origins(Settings())


async def test_every_call_names_the_configured_agent():
    agents = []

    async def answer(request):
        agents.append(request.headers["user-agent"])
        return httpx.Response(200)

    origins = open_origins(Settings(user_agent="NONISV|Example|agw/1"))
    origins.transport = httpx.MockTransport(answer)
    upstream = Upstream(origins, "https://upstream.example", connection=1)
    await upstream.call("GET", "a")
    async with upstream.stream("GET", "b"):
        pass

    assert agents == ["NONISV|Example|agw/1 (gzip)"] * 2
    await origins.aclose()
