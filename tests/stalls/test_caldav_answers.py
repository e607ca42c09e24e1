"""Answers of a hostile CalDAV server: how long they hold the loop, and what the caller gets."""

from xml.sax.saxutils import escape

import hostile_http_server
import pytest
import pytest_asyncio

pytestmark = [pytest.mark.stall, pytest.mark.caller(calendarAccessEnabled=True)]
EVENTS = "/api/access/calendar/events?from=2026-11-01&to=2026-12-01"
KIB = 1024
ROOT = '<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">'
HOME = "<c:calendar-home-set><d:href>/h/</d:href></c:calendar-home-set>"
CALENDAR = "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>"
EVENT = "DTSTART:20261120T090000Z\r\nDTEND:20261120T100000Z\r\nSUMMARY:Lease\r\n"
WORK = 'Calendar server (ada@example.test), calendar "work": '
INCOMPLETE = f"{WORK}has more than can be read at once."
UNREADABLE = f"{WORK}has events that cannot be read."
FAILED = (502, f"None of the connected calendars answered. {WORK}failed.")


def multistatus(*responses):
    return (ROOT + "".join(responses) + "</d:multistatus>").encode()


def response(href, properties):
    status = "<d:status>HTTP/1.1 200 OK</d:status>"
    propstat = f"<d:propstat><d:prop>{properties}</d:prop>{status}</d:propstat>"
    return f"<d:response><d:href>{href}</d:href>{propstat}</d:response>"


def calendar_object(lines, uid="1"):
    head = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n{EVENT}"
    return f"{head}{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


class Calendars:
    """Answers of a server with one calendar, any of which a test may replace."""

    def __init__(self):
        self.home = multistatus(response("/h/", ""), response("/h/work/", CALENDAR))
        self.tags = None
        self.objects = {"/h/work/ok.ics": calendar_object("X-A:b")}

    def __call__(self, method, path, body):
        kind = "text/xml"
        if method == "REPORT" and b"calendar-query" in body:
            tags = [response(href, "<d:getetag>1</d:getetag>") for href in self.objects]
            return 207, kind, self.tags or multistatus(*tags)
        if method == "REPORT":
            asked = [href for href in self.objects if f"<D:href>{href}</D:href>".encode() in body]
            return 207, kind, multistatus(*map(self._object, asked))
        if path == "/h/":
            return 207, kind, self.home
        if path == "/h/work/":
            return 207, kind, multistatus(response(path, CALENDAR))
        return 207, kind, multistatus(response(path, HOME))

    def _object(self, href):
        data = f"<c:calendar-data>{escape(self.objects[href])}</c:calendar-data>"
        return response(href, f"<d:getetag>1</d:getetag>{data}")


@pytest_asyncio.fixture
async def calendars(world):
    with hostile_http_server.running() as server:
        server.answer = Calendars()
        body = {
            "resourceId": 1,
            "operatorId": world.operator_id,
            "kind": "calendar",
            "provider": "CALDAV",
            "accountEmail": "ada@example.test",
            "baseUrl": server.url,
            "credentials": {"username": "ada", "password": "secret"},
        }
        connected = await world.admin.post("/api/connections", json=body)
        assert connected.status_code == 201, connected.text
        yield server.answer


@pytest.fixture
def read(stalls, client, beside_probes):
    async def read(name, limit=100):
        """List events, timed; return their titles, and the warning or the error."""
        response = await stalls.measure(
            name, lambda: beside_probes(lambda: client.get(f"{EVENTS}&limit={limit}"))
        )
        body = response.json()
        if response.status_code != 200:
            return response.status_code, body["message"]
        warning = " ".join(body.get("authWarnings", []))
        return sorted({event["title"] for event in body["events"]}), warning or None

    return read


async def test_an_ordinary_calendar(calendars, read):
    assert await read("CalDAV: an ordinary calendar") == (["Lease"], None)


async def test_45_000_calendars(calendars, read):
    listed = [response(f"/h/w{number:05}/", CALENDAR) for number in range(45_000)]
    calendars.home = multistatus(response("/h/work/", CALENDAR), *listed)

    # The first 500 by their paths; "work" is not among them.
    assert await read("CalDAV: 45,000 calendars") == ([], None)


async def test_millions_of_elements(calendars, read):
    calendars.tags = multistatus("<a/>" * 3_900_000)

    assert await read("CalDAV: 3,900,000 elements") == FAILED


MEGABYTES = 15 * 1000 * 1000
HUGE_TAGS = {
    "attributes": lambda: "<a " + " ".join(f'a{n}=""' for n in range(1_200_000)) + "/>",
    "attributes of brackets": lambda: "<a " + " ".join(f'a{n}=">"' for n in range(10**6)) + "/>",
    "a comment": lambda: "<!--" + "a" * MEGABYTES + "-->",
    "an attribute": lambda: '<a a="' + "a" * MEGABYTES + '"/>',
}


@pytest.mark.parametrize("name", HUGE_TAGS)
async def test_huge_tags(calendars, read, name):
    calendars.tags = multistatus(HUGE_TAGS[name]())

    assert await read(f"CalDAV: {name}, 15 MB") == FAILED


async def test_90_000_entity_tags(calendars, read):
    tags = [response(f"/h/work/{n}.ics", "<d:getetag>1</d:getetag>") for n in range(90_000)]
    calendars.tags = multistatus(response("/h/work/ok.ics", "<d:getetag>1</d:getetag>"), *tags)

    assert await read("CalDAV: 90,000 entity tags") == (["Lease"], INCOMPLETE)


GUESTS = "\r\n".join(f"ATTENDEE;CN=Guest {n}:mailto:g{n}@b.example" for n in range(9000))
# Lines of an object, and whether they are too many to be read.
OBJECTS = {
    "lines": ("\r\n".join(["X-A:b"] * 74_000), True),
    "added dates": ("RDATE:" + ",".join(["20261121T090000Z"] * 29_000), True),
    "parameters": ("X-A" + ";a=b" * 130_000 + ":c", True),
    "attendees": (GUESTS, True),
    "components": ("\r\n".join(["BEGIN:VALARM\r\nEND:VALARM"] * 18_000), True),
    "folded lines": ("DESCRIPTION:" + "\r\n a" * 130_000, True),
    "escapes": ("DESCRIPTION:" + r"\n" * 260_000, False),
    "one long text": ("DESCRIPTION:" + "a" * 520_000, False),
    "categories": ("CATEGORIES:" + "a," * 260_000, True),
}


@pytest.mark.parametrize("name", OBJECTS)
async def test_31_objects_of_512_kilobytes(calendars, read, name):
    lines, is_too_much = OBJECTS[name]
    odd = calendar_object(lines[: 511 * KIB])
    calendars.objects |= {f"/h/work/{number}.ics": odd for number in range(31)}

    warning = UNREADABLE if is_too_much else None
    if name == "attendees":
        people = "has people whose addresses cannot be read, left out"
        warning += " " + UNREADABLE.replace("has events that cannot be read", people)
    assert await read(f"CalDAV: 31 objects of 512 kB, {name}") == (["Lease"], warning)


async def test_an_object_of_16_megabytes(calendars, read):
    calendars.objects["/h/work/large.ics"] = calendar_object("DESCRIPTION:" + "a" * 16_000_000)

    assert await read("CalDAV: one object of 16 MB") == (["Lease"], UNREADABLE)


async def test_calendars_with_long_time_zones(calendars, read):
    zone = "BEGIN:VTIMEZONE\r\nTZID:X\r\n" + "X-A:b\r\n" * 4000 + "END:VTIMEZONE\r\n"
    text = f"<c:calendar-timezone>BEGIN:VCALENDAR\r\n{zone}END:VCALENDAR\r\n</c:calendar-timezone>"
    listed = [response(f"/h/c{number:03}/", CALENDAR + text) for number in range(300)]
    calendars.home = multistatus(response("/h/work/", CALENDAR), *listed)

    assert await read("CalDAV: 300 calendars with long time zones") == (["Lease"], None)


async def test_a_series_with_many_guests(calendars, read):
    guests = "\r\n".join(GUESTS.split("\r\n")[:1000])
    series = calendar_object(f"RRULE:FREQ=HOURLY\r\n{guests}")
    calendars.objects |= {f"/h/work/{number}.ics": series for number in range(30)}

    titles, warning = await read("CalDAV: 30 hourly series with 1,000 guests", limit=10)
    assert (titles, warning) == (["Lease"], INCOMPLETE)
