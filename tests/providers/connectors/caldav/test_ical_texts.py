"""Addresses, joining links and lines of events: docs/spec/upstream/caldav.md#event-fields."""

from datetime import UTC

import pytest

from providers.connectors.caldav.calendar_objects import parse_object


def only(event):
    lines = "\n".join(line.strip(" ") for line in event.split("\n"))
    text = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    parsed = parse_object("u", text, UTC)
    assert parsed.is_whole
    return parsed.content


# People and links

ADDRESSES = {
    "mailto:jo%2Bwork@example.com": "jo+work@example.com",
    "mailto:jo%40example.com": "jo@example.com",
    "MAILTO:Jo@Example.com": "Jo@Example.com",
    "mailto:jo@example.com?subject=a%20b": "jo@example.com",
    "mailto:jo@example.com,al@example.com": "jo@example.com",
    "mailto:%20jo@example.com": "jo@example.com",
    "mailto:<jo@example.com>": "jo@example.com",
    "mailto:mailto:jo@example.com": "jo@example.com",
    " mailto: jo@example.com ": "jo@example.com",
    "jo@example.com": "jo@example.com",
    "mailto:j%C3%B6@example.com": "jö@example.com",
    "invalid:nomail": None,
    "mailto:": None,
    "mailto:jo": None,
    "mailto:jo%0Abcc:al@example.com": None,
    "urn:uuid:1234": None,
    "/principals/users/jo/": None,
}


@pytest.mark.parametrize(("value", "email"), ADDRESSES.items())
def test_addresses_are_those_of_their_uris(value, email):
    content = only(f"DTSTART:20260302T090000Z\nATTENDEE:{value}\nORGANIZER:{value}")

    assert [person.email for person in content.attendees] == ([email] if email else [])
    assert (content.organizer and content.organizer.email) == email


@pytest.mark.parametrize("value", ["invalid:nomail", "urn:uuid:1", "/principals/jo/", "mailto:"])
def test_the_parameter_names_the_address_that_the_value_lacks(value):
    content = only(f"DTSTART:20260302T090000Z\nATTENDEE;EMAIL=jo@example.com:{value}")

    assert [person.email for person in content.attendees] == ["jo@example.com"]


LINKS = {
    "several entries": (
        """CONFERENCE;VALUE=URI;FEATURE=PHONE:tel:+1-555
        CONFERENCE;VALUE=URI;FEATURE=CHAT:https://chat.example/1
        CONFERENCE;VALUE=URI;FEATURE="AUDIO,VIDEO":https://meet.example/1""",
        "https://meet.example/1",
    ),
    "chat alone": (
        "CONFERENCE;VALUE=URI;FEATURE=CHAT:https://chat.example/1", "https://chat.example/1",
    ),
    "a telephone, and a vendor's": (
        "CONFERENCE:tel:+1-555\nX-GOOGLE-CONFERENCE:https://meet.google.com/abc-defg-hij",
        "https://meet.google.com/abc-defg-hij",
    ),
    "another vendor's": (
        "X-OPENPAAS-VIDEOCONFERENCE:https://jitsi.example/x", "https://jitsi.example/x",
    ),
    "the place": (
        "LOCATION:https://teams.microsoft.com/l/meetup-join/19%3ax",
        "https://teams.microsoft.com/l/meetup-join/19%3ax",
    ),
    "the place, with more": (
        "LOCATION:Room 5\\, or https://us02web.zoom.us/j/1?pwd=a.", "https://us02web.zoom.us/j/1?pwd=a",
    ),
    "the description": (
        "DESCRIPTION:Agenda: https://example.com/a\\nJoin <https://meet.google.com/abc-defg-hij>",
        "https://meet.google.com/abc-defg-hij",
    ),
    "no link to join": ("LOCATION:https://zoom.us/pricing\nURL:https://example.com/", None),
    "another host": ("LOCATION:https://zoom.us.evil.example/j/1", None),
    "a path that looks like a host": ("LOCATION:https://evil.example/zoom.us/j/1", None),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "url"), LINKS.values(), ids=LINKS)
def test_the_link_to_join_is_found(lines, url):
    assert only(f"DTSTART:20260302T090000Z\n{lines}").join_url == url


# Lines

CHARACTERS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r"]


@pytest.mark.parametrize("character", CHARACTERS, ids=map(hex, map(ord, CHARACTERS)))
@pytest.mark.parametrize("name", ["SUMMARY", "DESCRIPTION", "LOCATION", "CATEGORIES", "CN"])
def test_a_line_ends_at_its_end_alone(character, name):
    text = f"a{character}STATUS:CANCELLED"
    line = f'ATTENDEE;CN="{text}":mailto:jo@example.com' if name == "CN" else f"{name}:{text}"
    content = only(f"DTSTART:20260302T090000Z\n{line}")

    assert content.status == "confirmed"
    if name == "CN":  # which may hold no control characters, RFC 5545, 3.1
        (person,) = content.attendees
        assert person.name == (text if character > "\x7f" else text.replace(character, ""))
    else:
        read = [content.title, content.description, content.location, *content.labels]
        assert text in read


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\r\n\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_end_in_every_way(end, mark):
    lines = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "dtstart:20260302T090000Z", "Summary:a", " b",
             "END:VEVENT", "END:VCALENDAR"]  # fmt: skip
    content = parse_object("u", mark + end.join([*lines, ""]), UTC).content

    assert content.title == "ab"
