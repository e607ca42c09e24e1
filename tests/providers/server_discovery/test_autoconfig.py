"""The configuration file that a domain publishes: what is read, and what is refused."""

import pytest

from providers.imap.endpoints import Endpoint, Security
from providers.server_discovery import autoconfig, web
from providers.server_discovery.autoconfig import ConfiguredServer

ADA = "ada@example.test"


def server(kind, host, port, security, user="%EMAILADDRESS%"):
    tag = "incomingServer" if kind in {"imap", "pop3"} else "outgoingServer"
    return (
        f'<{tag} type="{kind}"><hostname>{host}</hostname><port>{port}</port>'
        f"<socketType>{security}</socketType><authentication>password-cleartext</authentication>"
        f"<username>{user}</username></{tag}>"
    )


def file(*servers, head=""):
    content = "".join(servers)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}<clientConfig version="1.1">'
        f'<emailProvider id="x"><domain>example.test</domain>{content}</emailProvider>'
        "</clientConfig>"
    ).encode()


def test_the_first_server_with_tls_is_read():
    body = file(
        server("imap", "mail.example.test", 143, "STARTTLS"),
        server("pop3", "mail.example.test", 995, "SSL"),
        server("imap", "mail.example.test", 993, "SSL"),
        server("imap", "mail.example.test", 143, "plain"),
        server("smtp", "out.%EMAILDOMAIN%", 465, "SSL", "%EMAILLOCALPART%"),
    )

    assert autoconfig.parse(body, ADA) == {
        "imap": ConfiguredServer(Endpoint("mail.example.test", 993, Security.TLS), ADA),
        "smtp": ConfiguredServer(Endpoint("out.example.test", 465, Security.TLS), "ada"),
    }


def test_a_server_with_starttls_is_read_where_none_has_tls():
    body = file(
        server("imap", "mail.example.test", 143, "plain"),
        server("imap", "mail.example.test", 143, "STARTTLS"),
    )

    assert autoconfig.parse(body, ADA) == {
        "imap": ConfiguredServer(Endpoint("mail.example.test", 143, Security.STARTTLS), ADA)
    }


@pytest.mark.parametrize(
    ("host", "port", "user", "kept"),
    [
        pytest.param("bücher.test", "993", "ada", "xn--bcher-kva.test", id="an IDN"),
        pytest.param("mail.example.test/x", "993", "ada", None, id="a path in the host"),
        pytest.param("a@mail.example.test", "993", "ada", None, id="a user in the host"),
        pytest.param("mail.example.test", "0", "ada", None, id="port 0"),
        pytest.param("mail.example.test", "65536", "ada", None, id="a port that is too large"),
        pytest.param("mail.example.test", "x", "ada", None, id="no number"),
        pytest.param("", "993", "ada", None, id="no host"),
        pytest.param("a" * 64 + ".test", "993", "ada", None, id="a label that is too long"),
    ],
)
def test_a_server_with_an_impossible_place_is_left_out(host, port, user, kept):
    servers = autoconfig.parse(file(server("imap", host, port, "SSL", user)), ADA)

    assert [entry.endpoint.host for entry in servers.values()] == ([kept] if kept else [])


def test_an_unknown_placeholder_in_a_user_name_names_none():
    body = file(server("imap", "mail.example.test", 993, "SSL", "%REALNAME%"))

    assert autoconfig.parse(body, ADA)["imap"].username == ""


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param(b"", "not XML", id="empty"),
        pytest.param(b"<html><body>Not found</body></html>", "not a configuration", id="a page"),
        pytest.param(
            file(head='<!DOCTYPE clientConfig [<!ENTITY a "b">]>'), "document type", id="entities"
        ),
        pytest.param(b"<clientConfig>", "not XML", id="cut off"),
        pytest.param(b"<clientConfig>&a;</clientConfig>", "not XML", id="an entity"),
    ],
)
def test_what_is_no_such_file_is_refused(body, sentence):
    with pytest.raises(ValueError, match=sentence):
        autoconfig.parse(body, ADA)


def test_elements_as_deep_as_the_file_is_long_are_read():
    depth = web.MAX_BYTES // 7
    body = b"<clientConfig>" + b"<a>" * depth + b"</a>" * depth + b"</clientConfig>"

    assert autoconfig.parse(body, ADA) == {}
