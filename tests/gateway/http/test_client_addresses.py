"""Forwarded addresses are believed from trusted proxies alone."""

from ipaddress import ip_network

import pytest

from gateway.http.client_addresses import bucket

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def scope(peer, *forwarded):
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    return {"client": (peer, 1234) if peer else None, "headers": headers}


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        pytest.param("192.0.2.7", (), "192.0.2.7", id="nobody between"),
        pytest.param("192.0.2.7", ("203.0.113.9",), "192.0.2.7", id="a stranger may say anything"),
        pytest.param("10.0.0.1", (), "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("10.0.0.1", ("203.0.113.9",), "203.0.113.9", id="a proxy tells the client"),
        pytest.param(
            "10.0.0.1",
            ("198.51.100.1, 203.0.113.9",),
            "203.0.113.9",
            id="the client lies on the left",
        ),
        pytest.param(
            "10.0.0.1", ("203.0.113.9, 10.0.0.2",), "203.0.113.9", id="two proxies in a row"
        ),
        pytest.param(
            "10.0.0.1",
            ("198.51.100.1", "203.0.113.9"),
            "203.0.113.9",
            id="several lines are one list",
        ),
        pytest.param("10.0.0.1", ("not an ip; DROP",), "10.0.0.1", id="no address at all"),
        pytest.param("10.0.0.1", ("203.0.113.9, unknown",), "10.0.0.1", id="garbage ends the walk"),
        pytest.param("10.0.0.1", ("10.9.9.9",), "10.9.9.9", id="only proxies"),
        pytest.param(
            "10.0.0.1", ("203.0.113.9:4711",), "10.0.0.1", id="with a port it is no address"
        ),
        pytest.param("2001:db8:1:2:3:4:5:6", (), "2001:db8:1:2::/64", id="IPv6 by its /64"),
        pytest.param("::ffff:192.0.2.7", (), "192.0.2.7", id="IPv4 in IPv6 clothes"),
        pytest.param("fd00::1", ("2001:db8::5",), "2001:db8::/64", id="an IPv6 proxy"),
        pytest.param("fe80::1%eth0", (), "fe80::/64", id="a zone is no other address"),
        pytest.param("testclient", (), "unknown", id="no address"),
        pytest.param(None, (), "unknown", id="no peer"),
    ],
)
def test_the_counted_address(peer, forwarded, expected):
    assert bucket(scope(peer, *forwarded), PROXIES) == expected


def test_without_trusted_proxies_forwarded_addresses_are_ignored():
    assert bucket(scope("127.0.0.1", "203.0.113.9"), ()) == "127.0.0.1"
