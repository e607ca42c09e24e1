"""
Calendar objects of the kinds in tests/rest_compat/calendar/ical_cases in further forms.

Each is one object: its lines, and the starts of its events in 2026 (month, day and hour in UTC; of
whole days without the hour), or members of its first event. Comments name documents and reports.
"""

_ONE_HOUR = "DURATION:PT1H"
_BERLIN = ("DTSTART;TZID=Europe/Berlin:20260302T100000", _ONE_HOUR)
_UTC = ("DTSTART:20260302T090000Z", _ONE_HOUR)
_THREE = "RRULE:FREQ=DAILY;COUNT=3"
_EUROPE = (
    "BEGIN:STANDARD", "DTSTART:16010101T030000", "TZOFFSETFROM:+0200", "TZOFFSETTO:+0100",
    "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "END:STANDARD", "BEGIN:DAYLIGHT",
    "DTSTART:16010101T020000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200",
    "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", "END:DAYLIGHT",
)  # fmt: skip


def calendar(*lines, zone=(), override=()):
    """Return an object of one event; *zone*: lines of its VTIMEZONE; *override*: of an override."""
    texts = ["BEGIN:VCALENDAR", "VERSION:2.0"]
    if zone:
        texts += ["BEGIN:VTIMEZONE", *zone, "END:VTIMEZONE"]
    for event in (lines, override) if override else (lines,):
        texts += ["BEGIN:VEVENT", "UID:u@x", "SUMMARY:S", *event, "END:VEVENT"]
    return "\r\n".join([*texts, "END:VCALENDAR", ""])


def at(name, **more):
    """Return an object of an event at ten o'clock in July, in a zone."""
    return calendar(f"DTSTART;TZID={name}:20260702T100000", _ONE_HOUR, **more)


def fixed(zone, start, offset):
    """Return the lines of a VTIMEZONE of one offset."""
    offsets = (f"TZOFFSETFROM:{offset}", f"TZOFFSETTO:{offset}")
    return (f"TZID:{zone}", "BEGIN:STANDARD", f"DTSTART:{start}", *offsets, "END:STANDARD")


def person(line, email, name=None, response="needsAction"):
    guest = {"email": email, "name": name, "response": response}
    return calendar(*_UTC, f"ATTENDEE{line}"), {"attendees": [guest]}


REPORTED = {
    # Ends and exceptions: Etar-Calendar#779, nextcloud/calendar#2660, node-ical#456 and #460
    "day as the end": (
        calendar(*_BERLIN, "RRULE:FREQ=DAILY;UNTIL=20260304"),
        "0302T09 0303T09 0304T09",
    ),
    "end without a zone": (
        calendar(*_BERLIN, "RRULE:FREQ=DAILY;UNTIL=20260303T100000"),
        "0302T09 0303T09",
    ),
    "all excluded": (
        calendar(
            *_BERLIN,
            _THREE,
            "EXDATE:20260302T090000Z,20260303T090000Z",
            "EXDATE;TZID=Europe/Berlin:20260304T100000",
        ),
        "",
    ),
    "excluded day": (calendar(*_BERLIN, _THREE, "EXDATE;VALUE=DATE:20260303"), "0302T09 0304T09"),
    "excluded in another zone": (
        calendar(*_BERLIN, _THREE, "EXDATE;TZID=Asia/Tokyo:20260303T180000"),
        "0302T09 0304T09",
    ),
    "midnight of a Windows zone": (
        calendar(
            "DTSTART;VALUE=DATE:20260302",
            _THREE,
            "EXDATE;TZID=W. Europe Standard Time:20260303T000000",
        ),
        "0302 0304",
    ),
    "nothing excluded": (calendar(*_BERLIN, _THREE, "EXDATE:"), "0302T09 0303T09 0304T09"),
    # Overrides: bitfireAT/synctools#80, bitfireAT/ical4android#138 and #190
    "override in a third zone": (
        calendar(
            "DTSTART;TZID=Pacific/Auckland:20260408T110000",
            _ONE_HOUR,
            "RRULE:FREQ=DAILY;COUNT=5;INTERVAL=2",
            "EXDATE;TZID=Pacific/Auckland:20260412T110000",
            override=(
                "RECURRENCE-ID;TZID=Europe/Paris:20260414T010000",
                "DTSTART;TZID=Europe/Paris:20260414T020000",
                _ONE_HOUR,
            ),
        ),
        "0407T23 0409T23 0414T00 0415T23",
    ),
    "override by a number's zone": (
        calendar(
            "DTSTART;VALUE=DATE:20260225",
            _THREE,
            override=("RECURRENCE-ID;TZID=UTC+01:20260226T000000", "DTSTART;VALUE=DATE:20260310"),
        ),
        "0225 0227 0310",
    ),
    "override with rules": (
        calendar(
            *_BERLIN,
            _THREE,
            override=(
                "RECURRENCE-ID;TZID=Europe/Berlin:20260303T100000",
                "RRULE:FREQ=DAILY;COUNT=9",
                "RDATE:20260401T100000Z",
                "DTSTART;TZID=Europe/Berlin:20260303T120000",
                _ONE_HOUR,
            ),
        ),
        "0302T09 0303T11 0304T09",
    ),
    "this and the following": (
        calendar(
            *_BERLIN,
            "RRULE:FREQ=DAILY;COUNT=4",
            override=(
                "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260304T100000",
                "DTSTART;TZID=Europe/Berlin:20260304T140000",
                "DURATION:PT2H",
            ),
        ),
        "0302T09 0303T09 0304T13 0305T13",
    ),
    # Rules: pimutils/vdirsyncer#1055, RFC 5545, 3.3.10
    "last day of a weekend": (
        calendar(
            "DTSTART;VALUE=DATE:20260426",
            "RRULE:FREQ=YEARLY;UNTIL=20280430;BYMONTH=4;BYDAY=SU,SA;BYSETPOS=-1",
        ),
        "0426",
    ),
    "days of a year": (
        calendar("DTSTART;VALUE=DATE:20260410", "RRULE:FREQ=YEARLY;BYYEARDAY=100,200;COUNT=2"),
        "0410 0719",
    ),
    "last of a month": (
        calendar("DTSTART:20260131T090000Z", "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3"),
        "0131T09 0228T09 0331T09",
    ),
    "small letters": (
        calendar(*_UTC, "RRULE:freq=weekly;byday=mo,we;count=3"),
        "0302T09 0304T09 0309T09",
    ),
    "blank and semicolon": (
        calendar(*_UTC, "RRULE:FREQ=WEEKLY;BYDAY=MO, WE;COUNT=3;"),
        "0302T09 0304T09 0309T09",
    ),
    "weeks from Sunday": (
        calendar(*_UTC, "RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU;COUNT=3;BYDAY=SU,MO"),
        "0302T09 0315T09 0316T09",
    ),
    "two rules": (
        calendar(*_UTC, "RRULE:FREQ=DAILY;COUNT=2", "RRULE:FREQ=WEEKLY;COUNT=2"),
        "0302T09 0303T09 0309T09",
    ),
    "period of a rule": (
        calendar(*_UTC, "RDATE;VALUE=PERIOD:20260310T090000Z/PT30M"),
        "0302T09 0310T09",
    ),
    "hours": (
        calendar(*_UTC, "RRULE:FREQ=HOURLY;BYHOUR=9,10,11;COUNT=4"),
        "0302T09 0302T10 0302T11 0303T09",
    ),
    "every third hour on some days": (
        calendar(*_UTC, "RRULE:FREQ=HOURLY;INTERVAL=3;BYDAY=MO;BYHOUR=9,10,12;COUNT=3"),
        "0302T09 0302T12 0309T09",
    ),
    "minutes": (
        calendar(*_UTC, "RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10;COUNT=7"),
        "0302T09 0302T09 0302T09 0302T10 0302T10 0302T10 0303T09",
    ),
    "hours alone": (
        calendar(*_UTC, "RRULE:FREQ=HOURLY;INTERVAL=6;COUNT=3"),
        "0302T09 0302T15 0302T21",
    ),
    # Zones: nextcloud/calendar#3862, #3241 and #4429, openstreetmap-calendar#185
    "own zone from a UTC start": (
        at("GRC-test", zone=fixed("GRC-test", "20200329T010000Z", "+1100")),
        "0701T23",
    ),
    "own zone in other letters": (
        at("Nowhere/Custom", zone=fixed("nowhere/custom", "19700101T000000", "+0545")),
        "0702T04",
    ),
    "customized zone": (
        at("Customized Time Zone", zone=("TZID:Customized Time Zone", *_EUROPE)),
        "0702T08",
    ),
    "quoted zone": (at('"Europe/Berlin"'), "0702T08"),
    "slash before a zone": (at("/Europe/Vienna"), "0702T08"),
    "vendor's prefix": (at("/freeassociation.sourceforge.net/Tzfile/Europe/Berlin"), "0702T08"),
    "prefix with a version": (at("/mozilla.org/20050126_1/America/New_York"), "0702T14"),
    "offset": (at("GMT+0100"), "0702T09"),
    "quoted offset": (at('"UTC+01:00"'), "0702T09"),
    "shown name": (at('"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"'), "0702T08"),
    "eastern time": (at("Eastern Time (US & Canada)"), "0702T14"),
    "old link": (at("US/Eastern"), "0702T14"),
    "new name": (at("Europe/Kyiv"), "0702T07"),
    "older name": (at("Asia/Calcutta"), "0702T04"),
    "Greenwich of Windows": (at("GMT Standard Time"), "0702T09"),
    # Times: RFC 5545, 3.3.4 to 3.3.6
    "day without its kind": (calendar("DTSTART:20260302"), "0302"),
    "day in a zone": (calendar("DTSTART;TZID=Europe/Berlin;VALUE=DATE:20260302"), "0302"),
    "weeks": (
        calendar("DTSTART:20260302T090000Z", "DURATION:P1W"),
        {"endUtc": "2026-03-09T09:00:00Z"},
    ),
    "days and hours": (
        calendar("DTSTART:20260302T090000Z", "DURATION:P1DT2H"),
        {"endUtc": "2026-03-03T11:00:00Z"},
    ),
    # Texts and people: RFC 6868, RFC 7986, RFC 6068
    "alarm": (
        calendar(
            *_UTC,
            "BEGIN:VALARM",
            "ACTION:EMAIL",
            "SUMMARY:Alarm",
            "DESCRIPTION:Text",
            "TRIGGER:-PT15M",
            "ATTENDEE:mailto:alarm@x.example",
            "END:VALARM",
        ),
        {"title": "S", "description": None, "attendees": []},
    ),
    "escapes": (calendar(*_UTC, r"DESCRIPTION:a\;b\, c\Nd\\ne"), {"description": "a;b, c\nd\\ne"}),
    "folded by a tab": (calendar(*_UTC, "DESCRIPTION:fol\r\n\tded"), {"description": "folded"}),
    "categories": (
        calendar(*_UTC, "CATEGORIES:a\\,b,c", "CATEGORIES:d"),
        {"labels": ["a,b", "c", "d"]},
    ),
    "state in small letters": (calendar(*_UTC, "STATUS:tentative"), {"status": "tentative"}),
    "name in quotes": person(
        ';CN="Smith, Ann";PARTSTAT=ACCEPTED:MAILTO:ann@x.example',
        "ann@x.example",
        "Smith, Ann",
        "accepted",
    ),
    "address beside a number": person(
        ";EMAIL=ann@x.example;CN=Ann:urn:uuid:1", "ann@x.example", "Ann"
    ),
    "address alone": person(";CN=Ann:ann@x.example", "ann@x.example", "Ann"),
    "blank in an address": person(";CN=Ann:mailto: ann@x.example", "ann@x.example", "Ann"),
    "address in brackets": person(";CN=Ann:mailto:<ann@x.example>", "ann@x.example", "Ann"),
    "signs of a parameter": person(";CN=Bj^'orn^n:mailto:b@x.example", "b@x.example", 'Bj"orn'),
    "delegated": person(
        ';PARTSTAT=DELEGATED;DELEGATED-TO="mailto:b@x.example":mailto:a@x.example', "a@x.example"
    ),
    "sent by another": (
        calendar(*_UTC, 'ORGANIZER;SENT-BY="mailto:b@x.example";CN=A:mailto:a@x.example'),
        {"organizer": "a@x.example"},
    ),
    "two conferences": (
        calendar(
            *_UTC,
            "CONFERENCE;VALUE=URI;FEATURE=PHONE:tel:+1",
            "CONFERENCE;VALUE=URI;FEATURE=AUDIO,VIDEO:https://meet.x.example/a",
        ),
        {"joinUrl": "https://meet.x.example/a"},
    ),
    "byte order mark": ("\ufeff" + calendar(*_UTC), "0302T09"),
    "line feeds": (calendar(*_UTC).replace("\r\n", "\n"), "0302T09"),
    "blank lines": (calendar(*_UTC).replace("\r\n", "\r\n\r\n"), "0302T09"),
    "no id": (calendar(*_UTC).replace("UID:u@x\r\n", ""), "0302T09"),
}
