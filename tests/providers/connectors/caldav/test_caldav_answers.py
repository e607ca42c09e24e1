"""Answers of calendar servers, odd and hostile ones among them."""

import httpx
import pytest

from providers import registry
from providers.connectors.caldav.content_lines import NotCalendar, parse_calendar
from providers.connectors.caldav.multistatus import parse_multistatus
from providers.failures import Broken, Refused
from providers.http.client import Origins
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Calendar

BASE = "https://cal.example"
ENTITIES = """<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>
<d:multistatus xmlns:d="DAV:"><d:response><d:href>&b;</d:href></d:response></d:multistatus>"""
OUTSIDE = (
    """<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d:multistatus xmlns:d="DAV:"/>"""
)


class Held:
    scheme = "Basic"

    async def token(self, *, rejected=None):
        return "YWRhOmFkYQ=="


def opened(answers, *, base=BASE):
    """Open a port whose server gives prepared answers by method and path."""
    requests = []

    def respond(request):
        requests.append((request.method, str(request.url)))
        status, headers, body = answers[request.method, request.url.path]
        return httpx.Response(status, headers=headers, content=body)

    origins = Origins(transport=httpx.MockTransport(respond))
    info = ConnectionInfo(
        id=1, resource_id=1, kind="calendar", provider="CALDAV", account_email="a@b.example",
        base_url=base,
    )  # fmt: skip
    upstream = registry.open_upstream(origins, info, Held())
    return registry.PortRegistry(lambda _: upstream).open(info), requests


def multistatus(href, properties):
    namespaces = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
    status = "<d:status>HTTP/1.1 200 OK</d:status>"
    propstat = f"<d:propstat><d:prop>{properties}</d:prop>{status}</d:propstat>"
    response = f"<d:response><d:href>{href}</d:href>{propstat}</d:response>"
    return f"<d:multistatus {namespaces}>{response}</d:multistatus>"


CALENDAR = "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>"
_COMPONENTS = "c:supported-calendar-component-set"
TASKS = f'<{_COMPONENTS}><c:comp name="VTODO"/></{_COMPONENTS}>'


def home(href):
    return multistatus("/", f"<c:calendar-home-set><d:href>{href}</d:href></c:calendar-home-set>")


@pytest.mark.parametrize(
    "body",
    [
        ENTITIES, OUTSIDE, "", "no xml", "<a/>", "<d:multistatus xmlns:d='DAV:'>", "<a>" * 40,
        '<?xml version="1.0" encoding="nonsense"?><a/>',
    ],
)  # fmt: skip
def test_an_answer_that_is_no_multistatus_is_broken(body):
    with pytest.raises(Broken):
        parse_multistatus(body.encode(), most=10)


@pytest.mark.parametrize(
    ("properties", "names"), [(CALENDAR, ["work"]), (CALENDAR + TASKS, []), ("", [])]
)
async def test_calendars_for_events_are_listed(properties, names):
    port, requests = opened(
        {
            ("PROPFIND", "/.well-known/caldav"): (301, {"location": "/dav/"}, b""),
            ("PROPFIND", "/dav/"): (207, {}, home("/dav/ada/").encode()),
            ("PROPFIND", "/dav/ada/"): (207, {}, multistatus("/dav/ada/work/", properties)),
        }
    )

    assert list(await port.calendars()) == [Calendar(id="/dav/ada/work/", name=n) for n in names]
    assert [url for _, url in requests] == [
        f"{BASE}/.well-known/caldav", f"{BASE}/dav/", f"{BASE}/dav/ada/",
    ]  # fmt: skip


ELSEWHERE = {
    "a redirect": {("PROPFIND", "/dav/"): (301, {"location": "https://evil.example/"}, b"")},
    "a redirect to plain http": {
        ("PROPFIND", "/dav/"): (301, {"location": "http://cal.example/"}, b"")
    },
    "a home": {("PROPFIND", "/dav/"): (207, {}, home("https://evil.example/").encode())},
    "a home by another scheme": {("PROPFIND", "/dav/"): (207, {}, home("file:///etc/").encode())},
}


@pytest.mark.parametrize("answers", ELSEWHERE.values(), ids=ELSEWHERE.keys())
async def test_no_password_goes_to_another_server(answers):
    port, requests = opened(answers, base=f"{BASE}/dav")

    with pytest.raises(Refused) as refused:
        await port.calendars()

    assert refused.value.message == (
        "The calendar server leads to another server: connect to that one."
    )
    assert requests == [("PROPFIND", f"{BASE}/dav/")]


@pytest.mark.parametrize(
    "text",
    [
        "", "BEGIN:VEVENT\nEND:VEVENT", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR",
        "BEGIN:VCALENDAR", "BEGIN:A\n" * 20, "x" * 600_000, "END:VCALENDAR",
    ],
)  # fmt: skip
def test_what_is_no_calendar_is_refused(text):
    with pytest.raises(NotCalendar):
        parse_calendar(text)


def test_content_lines_are_read():
    calendar = parse_calendar(
        'BEGIN:VCALENDAR\r\nSUMMARY;X="a;b:c",d;Y=^n^\'^^:one\r\n  two\\, \\n\\\\\r\n'
        "nonsense\r\n: none\r\nCATEGORIES:a,b\\,c,,\r\nEND:VCALENDAR\r\n"
    )

    summary, categories = calendar.lines
    assert (summary.text, dict(summary.params)) == (
        "one two, \n\\", {"X": "a;b:c", "Y": '\n"^'},
    )  # fmt: skip
    assert list(categories.texts) == ["a", "b,c"]
