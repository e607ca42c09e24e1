"""Addresses of DNS servers; the queries themselves run against dnsmasq in tests/servers."""

import pytest

from providers.server_discovery import dns_records
from providers.server_discovery.dns_records import DnsResolver, server_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", ("127.0.0.1", 53)),
        ("127.0.0.1:5353", ("127.0.0.1", 5353)),
        ("::1", ("::1", 53)),
        ("[::1]:5353", ("::1", 5353)),
        ("[::1]", ("::1", 53)),
    ],
)
def test_a_server_is_an_address_perhaps_with_a_port(text, address):
    assert server_address(text) == address


@pytest.mark.parametrize("text", ["", "dns.example.test", "127.0.0.1:0", "127.0.0.1:x", "1.2.3"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):
        server_address(text)


async def test_names_of_this_machine_are_not_asked_for():
    resolver = DnsResolver("127.0.0.1:1")  # nothing listens there

    assert "127.0.0.1" in await resolver.addresses("localhost")
    assert await resolver.addresses("127.0.0.1") == ["127.0.0.1"]


@pytest.mark.slow
async def test_a_server_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(dns_records, "SECONDS", 0.2)
    with pytest.raises(OSError):
        await DnsResolver("127.0.0.1:1").service("_imaps._tcp.example.test")
