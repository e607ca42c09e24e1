"""The search for servers: its order, and where a password goes."""

import time

import httpx
import pytest

from providers.imap import connecting
from providers.server_discovery.search import Confirmation, Server, StepOutcome

MAIL, OUT, ELSEWHERE = "mail.example.test", "out.example.test", "mx.hoster.test"
ADA = "ada@example.test"


def outcomes(result, target):
    """The outcomes and sentences of the steps at one target."""
    return [(step.outcome, step.detail) for step in result.steps if step.target == target]


def assert_never_called(*servers):
    for server in servers:
        assert (server.connections, server.heard) == (0, [])


async def test_records_of_the_domain_name_its_servers(domain):
    imap, smtp = await domain.serve("imap", MAIL), await domain.serve("smtp", OUT)
    domain.record("imaps", MAIL, imap.port)
    domain.record("submissions", OUT, smtp.port)

    result = await domain.search()

    assert result.mail == Server(
        server=f"imaps://{MAIL}:{imap.port}",
        submission=f"smtps://{OUT}:{smtp.port}",
        username=ADA,
        signed_in=True,
    )
    assert (imap.logins, smtp.logins) == ([ADA], [ADA])
    assert result.confirmations == []


async def test_one_server_is_tried(domain):
    other = await domain.serve("imap", MAIL)
    domain.hosts[OUT] = "127.0.0.1"
    domain.record("imaps", OUT, 1)
    domain.record("imap", MAIL, other.port)

    result = await domain.search()

    assert result.mail is None
    assert outcomes(result, f"imaps://{OUT}:1") == [(StepOutcome.FAILED, connecting.NOT_LISTENING)]
    assert_never_called(other)


async def test_the_domains_own_page_comes_before_its_records(domain):
    listed, recorded = await domain.serve("imap", ELSEWHERE), await domain.serve("imap", MAIL)
    domain.hosts["autoconfig.example.test"] = "127.0.0.1"
    domain.record("imaps", MAIL, recorded.port)
    domain.web = configuration(listed.port, 1)
    listed.users = {"ada": "ada-secret"}

    result = await domain.search()

    assert (result.mail.server, result.mail.signed_in) == (
        f"imaps://{ELSEWHERE}:{listed.port}",
        True,
    )
    assert_never_called(recorded)


async def test_the_usual_name_is_tried_where_no_source_names_a_server(domain):
    result = await domain.search()

    tried = [step.target for step in result.steps if "mail.example.test" in step.target]
    assert tried == ["imaps://mail.example.test", "smtps://mail.example.test"]


async def test_servers_that_dns_alone_names_are_told_all_at_once(domain):
    imap, smtp = (
        await domain.serve("imap", ELSEWHERE),
        await domain.serve("smtp", "out.hoster.test"),
    )
    domain.record("imaps", ELSEWHERE, imap.port)
    domain.record("submissions", "out.hoster.test", smtp.port)

    result = await domain.search()

    assert [confirmation.host for confirmation in result.confirmations] == [
        ELSEWHERE,
        "out.hoster.test",
    ]
    assert_never_called(imap, smtp)


async def test_nothing_is_sent_to_a_server_that_dns_alone_names(domain):
    server = await domain.serve("imap", ELSEWHERE)
    domain.record("imaps", ELSEWHERE, server.port)

    result = await domain.search()

    assert result.mail is None
    reason = "mx.hoster.test is not in example.test, and DNS alone names it."
    assert result.confirmations == [Confirmation(ELSEWHERE, reason)]
    assert_never_called(server)

    confirmed = await domain.search(confirmed=frozenset({ELSEWHERE}), server="")
    # The name of a confirmed host is looked up by the system, which does not know this one.
    assert outcomes(confirmed, f"imaps://{ELSEWHERE}:{server.port}") == [
        (StepOutcome.FAILED, connecting.NO_SUCH_NAME)
    ]


@pytest.mark.parametrize("host", ["xexample.test", "example.test.evil.test", "test"])
async def test_a_similar_name_is_not_in_the_domain(domain, host):
    server = await domain.serve("imap", host)
    domain.record("imaps", host, server.port)

    result = await domain.search()

    assert [confirmation.host for confirmation in result.confirmations] == [host]
    assert_never_called(server)


async def test_the_domains_own_page_vouches_for_a_server_elsewhere(domain):
    imap, smtp = await domain.serve("imap", ELSEWHERE), await domain.serve("smtp", ELSEWHERE)
    domain.hosts["autoconfig.example.test"] = "127.0.0.1"
    domain.record("imaps", ELSEWHERE, imap.port)
    domain.web = configuration(imap.port, smtp.port)
    imap.users = smtp.users = {"ada": "ada-secret"}

    result = await domain.search()

    assert result.mail.server == f"imaps://{ELSEWHERE}:{imap.port}"
    assert (result.mail.submission, result.mail.username, result.mail.signed_in) == (
        f"smtps://{ELSEWHERE}:{smtp.port}",
        "ada",
        True,
    )
    assert (imap.logins, smtp.logins, result.confirmations) == (["ada"], ["ada"], [])
    assert all("authorization" not in request.headers for request in domain.requests)
    assert all("ada" not in str(request.url) for request in domain.requests)


async def test_the_pages_of_an_internationalized_domain_are_its_own(domain):
    host = "autoconfig.xn--bcher-kva.test"
    domain.hosts[host] = "127.0.0.1"
    domain.web = lambda _: httpx.Response(404)

    result = await domain.search(email="ada@b\u00fccher.test")

    ((outcome, _),) = outcomes(result, f"https://{host}/mail/config-v1.1.xml")
    assert outcome == StepOutcome.NOT_FOUND
    assert result.confirmations == []
    assert [request.url.host for request in domain.requests] == [host]


def configuration(imap_port, smtp_port):
    def answer(request):
        servers = "".join(
            f'<{tag} type="{kind}"><hostname>{ELSEWHERE}</hostname><port>{port}</port>'
            f"<socketType>SSL</socketType><username>%EMAILLOCALPART%</username></{tag}>"
            for tag, kind, port in (
                ("incomingServer", "imap", imap_port),
                ("outgoingServer", "smtp", smtp_port),
            )
        )
        return httpx.Response(200, text=f"<clientConfig>{servers}</clientConfig>")

    return answer


@pytest.mark.parametrize(
    ("location", "detail"),
    [
        pytest.param(
            "http://example.test/x.xml",
            "A redirect leads to an address without encryption.",
            id="plain http",
        ),
        pytest.param(
            "https://inner.example.test/x.xml",
            "inner.example.test is in the gateway's own network, or not on the internet.",
            id="this network",
        ),
        pytest.param(
            "https://autoconfig.example.test/x", "There are too many redirects.", id="loop"
        ),
    ],
)
async def test_a_page_leads_neither_to_plain_text_nor_into_this_network(domain, location, detail):
    domain.hosts |= {"autoconfig.example.test": "127.0.0.1", "inner.example.test": "10.0.0.1"}
    domain.web = lambda request: httpx.Response(302, headers={"location": location})

    result = await domain.search()

    url = "https://autoconfig.example.test/mail/config-v1.1.xml"
    assert [sentence for _, sentence in outcomes(result, url)] == [detail]
    assert all(request.url.host == "autoconfig.example.test" for request in domain.requests)


async def test_a_server_in_this_network_needs_a_confirmation(domain):
    server = await domain.serve("imap", MAIL)
    domain.hosts[MAIL] = "10.0.0.1"
    domain.record("imaps", MAIL, server.port)

    result = await domain.search()

    reason = f"{MAIL} is in the gateway's own network, or not on the internet."
    assert Confirmation(MAIL, reason) in result.confirmations
    assert result.mail is None
    assert_never_called(server)


@pytest.mark.parametrize(
    ("serving", "sentence"),
    [
        pytest.param({"names": ("other.test",)}, connecting.WRONG_NAME, id="another name"),
        pytest.param({"trusted": False}, connecting.UNKNOWN_AUTHORITY, id="unknown authority"),
        pytest.param({"tls": False}, connecting.NO_TLS, id="no TLS"),
    ],
)
@pytest.mark.parametrize("protocol", ["imap", "smtp"])
async def test_a_server_without_a_valid_certificate_gets_no_password(
    domain, protocol, serving, sentence
):
    server = await domain.serve(protocol, MAIL, **serving)
    domain.record("imaps" if protocol == "imap" else "submissions", MAIL, server.port)

    result = await domain.search()

    assert result.mail is None
    if protocol == "smtp":
        sentence = connecting.of_submission(sentence)
    assert (StepOutcome.FAILED, sentence) in outcomes(result, f"{protocol}s://{MAIL}:{server.port}")
    assert server.logins == []
    assert b"ada" not in b"".join(server.heard)


@pytest.mark.parametrize(
    ("protocol", "service", "sentence"),
    [
        ("imap", "imap", connecting.NO_STARTTLS),
        ("smtp", "submission", "The submission server offers no encryption."),
    ],
)
async def test_a_server_without_starttls_gets_no_password(domain, protocol, service, sentence):
    server = await domain.serve(protocol, MAIL, tls=False)
    domain.record(service, MAIL, server.port)

    result = await domain.search()

    assert outcomes(result, f"{protocol}://{MAIL}:{server.port}") == [
        (StepOutcome.FAILED, sentence)
    ]
    assert server.logins == []


async def test_a_service_that_the_domain_declines_is_not_guessed_at(domain):
    domain.record("imaps", "", 0)
    domain.record("imap", "", 0)

    result = await domain.search()

    assert not [step for step in result.steps if step.target.startswith("imap")]
    assert outcomes(result, "_imaps._tcp.example.test") == [
        (StepOutcome.NOT_FOUND, "The domain says that it has no such server.")
    ]
    assert [step for step in result.steps if step.target.startswith("smtp")]  # of another service


async def test_a_wrong_password_is_tried_once(domain):
    imap, smtp = await domain.serve("imap", MAIL), await domain.serve("smtp", OUT)
    domain.record("imaps", MAIL, imap.port)
    domain.record("submissions", OUT, smtp.port)

    result = await domain.search(password="wrong")

    assert (result.mail.signed_in, result.mail.refused) == (False, True)
    assert (imap.logins, smtp.logins) == ([ADA], [])


async def test_without_a_password_nobody_logs_in(domain):
    imap = await domain.serve("imap", MAIL)
    domain.record("imaps", MAIL, imap.port)

    result = await domain.search(password=None)

    assert (result.mail.signed_in, result.mail.refused, imap.logins) == (False, False, [])


async def test_a_submission_server_that_refuses_the_login_is_left_out(domain):
    imap = await domain.serve("imap", MAIL)
    smtp = await domain.serve("smtp", OUT, users={})
    domain.record("imaps", MAIL, imap.port)
    domain.record("submissions", OUT, smtp.port)

    result = await domain.search()

    assert (result.mail.signed_in, result.mail.submission) == (True, "")
    assert outcomes(result, f"smtps://{OUT}:{smtp.port}")[-1] == (
        StepOutcome.FAILED,
        "The submission server refused the user name or the password.",
    )


@pytest.mark.slow
async def test_a_search_ends_in_time_with_what_it_has(domain):
    hanging = await domain.serve("imap", MAIL, hangs=True)
    domain.record("imaps", MAIL, hanging.port)
    began = time.monotonic()

    result = await domain.search(seconds=0.3)

    assert time.monotonic() - began < 3  # far from the 5 seconds of one server
    assert (result.is_complete, result.mail) == (False, None)
    assert result.steps[-1].detail == "The search ended after 0 seconds."


@pytest.mark.parametrize(
    "email", ["ada@", "ada@-", "ada@a..b", "ada@exa mple.test", "ada@a/b", "ada@127.0.0.1"]
)
async def test_an_address_without_a_valid_domain_is_refused(domain, email):
    with pytest.raises(ValueError, match="The domain of the address is not valid"):
        await domain.search(email=email)

    assert domain.requests == []


class TestCalendars:
    """CalDAV: located without the password, which one server gets then."""

    async def test_the_well_known_place_leads_to_the_calendars(self, domain):
        domain.hosts["example.test"] = "127.0.0.1"
        domain.web = calendar_server("dav.hoster.test", password="ada-secret")
        domain.hosts["dav.hoster.test"] = "127.0.0.1"

        result = await domain.search(mail=False, calendar=True)

        assert result.calendar.server == "https://dav.hoster.test/dav"
        assert (result.calendar.username, result.calendar.signed_in, result.calendar.calendars) == (
            ADA,
            True,
            1,
        )
        with_password = {
            request.url.host for request in domain.requests if "authorization" in request.headers
        }
        assert with_password == {"dav.hoster.test"}

    async def test_a_wrong_password_is_told(self, domain):
        domain.hosts |= {"example.test": "127.0.0.1", "dav.hoster.test": "127.0.0.1"}
        domain.web = calendar_server("dav.hoster.test", password="other")

        result = await domain.search(mail=False, calendar=True)

        assert (result.calendar.signed_in, result.calendar.refused) == (False, True)

    async def test_dns_alone_does_not_choose_where_the_password_goes(self, domain):
        domain.record("caldavs", "dav.hoster.test", 443)
        domain.hosts["dav.hoster.test"] = "127.0.0.1"
        domain.web = calendar_server("dav.hoster.test", password="ada-secret")

        result = await domain.search(mail=False, calendar=True)

        assert result.calendar is None
        assert [confirmation.host for confirmation in result.confirmations] == ["dav.hoster.test"]
        assert not any(request.url.host == "dav.hoster.test" for request in domain.requests)

    async def test_a_web_site_is_no_calendar_server(self, domain):
        domain.hosts["example.test"] = "127.0.0.1"
        domain.web = lambda request: httpx.Response(200, text="<html>")

        result = await domain.search(mail=False, calendar=True)

        assert result.calendar is None
        assert not any("authorization" in request.headers for request in domain.requests)


def calendar_server(host, *, password):
    """The pages of a domain whose calendars are at *host* for ada with *password*."""
    basic = httpx.BasicAuth(ADA, password)
    expected = next(basic.auth_flow(httpx.Request("GET", "https://x"))).headers["authorization"]
    dav = 'xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"'

    def multistatus(href, properties):
        return httpx.Response(
            207,
            text=f"<multistatus {dav}><response><href>{href}</href><propstat><prop>{properties}"
            "</prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>",
        )

    def answer(request):
        if request.url.host != host:
            if request.url.path != "/.well-known/caldav" or request.url.host != "example.test":
                return httpx.Response(404)
            return httpx.Response(301, headers={"location": f"https://{host}/dav/"})
        if request.headers.get("authorization") != expected:
            return httpx.Response(401, headers={"www-authenticate": 'Basic realm="x"'})
        match request.url.path:
            case "/dav":
                return multistatus(
                    "/dav/", "<current-user-principal><href>/ada/</href></current-user-principal>"
                )
            case "/ada/":
                home = "<C:calendar-home-set><href>/home/</href></C:calendar-home-set>"
                return multistatus("/ada/", home)
            case _:
                return multistatus(
                    "/home/work/", "<resourcetype><collection/><C:calendar/></resourcetype>"
                )

    return answer
