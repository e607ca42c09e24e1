"""Answers of servers of address books: filters that are refused or ignored, and odd collections."""

import httpx
import pytest

from providers import registry
from providers.connectors.caldav.contacts.address_books import open_port
from providers.failures import Refused
from providers.http.client import Origins
from providers.ports.connection import ConnectionInfo
from providers.ports.opening import Memory, Opening
from providers.ports.people import CONTACTS

BASE = "https://dav.example"
BOOK = "<d:resourcetype><d:collection/><a:addressbook/></d:resourcetype>"
HOME = "<a:addressbook-home-set><d:href>/ada/</d:href></a:addressbook-home-set>"
NO_FILTER = b'<A:filter test="anyof"></A:filter>'


class Held:
    scheme = "Basic"

    async def token(self, *, rejected=None):
        return "YWRhOmFkYQ=="


def multistatus(*resources, more=""):
    status = "<d:status>HTTP/1.1 200 OK</d:status>"
    responses = (
        f"<d:response><d:href>{href}</d:href>"
        f"<d:propstat><d:prop>{properties}</d:prop>{status}</d:propstat></d:response>"
        for href, properties in resources
    )
    names = 'xmlns:d="DAV:" xmlns:a="urn:ietf:params:xml:ns:carddav"'
    return f"<d:multistatus {names}>{''.join(responses)}{more}</d:multistatus>"


def cards(number, **more):
    text = "BEGIN:VCARD\nFN:Dave {0}\nEMAIL:d{0}@x.example\nEND:VCARD\n"
    resources = (
        (f"/ada/b/{at}.vcf", f"<a:address-data>{text.format(at)}</a:address-data>")
        for at in range(number)
    )
    return multistatus(*resources, **more)


def opened(report, *, books=("/ada/b/",), well_known=207, base=BASE):
    """Open the contacts of a server that answers a REPORT with `report(body)`."""
    requests = []

    def respond(request):
        path = request.url.path
        requests.append((request.method, path))
        if request.method == "REPORT":
            status, body = report(request.content)
        elif path == "/ada/":
            status, body = 207, multistatus(("/ada/", ""), *((book, BOOK) for book in books))
        else:
            status, body = well_known if "well-known" in path else 207, multistatus(("/", HOME))
        return httpx.Response(status, content=body)

    origins = Origins(transport=httpx.MockTransport(respond))
    info = ConnectionInfo(
        id=1, resource_id=1, kind="calendar", provider="CALDAV", account_email="a@b.example",
        base_url=base,
    )  # fmt: skip
    opening = Opening(info, lambda each: registry.open_upstream(origins, each, Held()), Memory())
    return open_port(opening), requests


async def test_books_are_found_once_and_each_is_asked_once():
    port, requests = opened(lambda _: (207, cards(2)), books=("/ada/b/", "/ada/c/"))

    page = await port.search(CONTACTS, "dave x")
    await port.search(CONTACTS, "ann")

    assert len(page.people) == 4
    assert page.is_complete
    reports = [("REPORT", "/ada/b/"), ("REPORT", "/ada/c/")]
    known = [("PROPFIND", "/.well-known/carddav"), ("PROPFIND", "/ada/")]
    assert requests == [*known, *reports, *reports]


async def test_a_server_without_a_well_known_address_is_asked_at_its_root():
    port, requests = opened(lambda _: (207, cards(1)), well_known=404)

    assert (await port.search(CONTACTS, "dave")).is_complete
    assert [path for _, path in requests][:2] == ["/.well-known/carddav", "/"]


async def test_a_server_that_refuses_the_filter_is_asked_without():
    def report(body):
        return (207, cards(3)) if NO_FILTER in body else (403, "")

    port, requests = opened(report)
    page = await port.search(CONTACTS, "dave")

    assert (len(page.people), page.is_complete) == (3, True)
    assert [method for method, _ in requests].count("REPORT") == 2


async def test_a_server_that_refuses_every_query_fails():
    port, _ = opened(lambda _: (403, ""))

    with pytest.raises(Refused):
        await port.search(CONTACTS, "dave")


@pytest.mark.parametrize(
    ("number", "is_complete"), [(99, True), (100, False), (150, True), (1000, True), (1001, False)]
)
async def test_as_many_cards_as_asked_for_may_be_some_of_more(number, is_complete):
    port, _ = opened(lambda _: (207, cards(number)))

    page = await port.search(CONTACTS, "dave")

    assert (len(page.people), page.is_complete) == (min(number, 1000), is_complete)


async def test_a_server_that_tells_of_more_is_incomplete():
    cut = "<d:response><d:href>/ada/b/</d:href><d:status>HTTP/1.1 507 X</d:status></d:response>"
    port, _ = opened(lambda _: (207, cards(5, more=cut)))

    page = await port.search(CONTACTS, "dave")

    assert (len(page.people), page.is_complete) == (5, False)


async def test_a_card_that_is_too_long_makes_the_page_incomplete():
    text = f"<a:address-data>{'x' * 3_000_000}</a:address-data>"
    port, _ = opened(lambda _: (207, multistatus(("/ada/b/1.vcf", text))))

    assert (await port.search(CONTACTS, "dave")) == ([], False)


async def test_ten_books_are_searched():
    port, requests = opened(
        lambda _: (207, cards(1)), books=[f"/ada/{number:02}/" for number in range(12)]
    )

    page = await port.search(CONTACTS, "dave")

    assert (len(page.people), page.is_complete) == (10, False)
    assert [method for method, _ in requests].count("REPORT") == 10


async def test_a_server_without_address_books_is_refused():
    port, _ = opened(lambda _: (207, cards(1)), books=())

    with pytest.raises(Refused, match="no address books"):
        await port.search(CONTACTS, "dave")
