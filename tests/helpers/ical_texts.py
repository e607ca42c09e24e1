"""Events of the sandbox's store as iCalendar."""

from sandbox.calendar.records import EventTime

_ZONE = """BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:-//tests//EN\r
BEGIN:VTIMEZONE\r
TZID:{name}\r
BEGIN:STANDARD\r
DTSTART:19700101T000000\r
TZOFFSETFROM:+0100\r
TZOFFSETTO:+0100\r
END:STANDARD\r
END:VTIMEZONE\r
END:VCALENDAR\r
"""


def zone_definition(name):
    """The zone of a calendar; a name that is known decides, whatever the definition says."""
    return _ZONE.format(name=name)


def calendar_file(event, *, owner=None):
    """Write an event or series, with its overrides; *owner* organises it if nobody else does."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN"]
    recurrence = _recurrence(event.recurrence)
    if owner and event.content.organiser is None:
        recurrence.append(f"ORGANIZER:mailto:{owner}")
    lines += _component(event.uid, event.content, recurrence)
    for override in event.overrides:
        original = _time("RECURRENCE-ID", override.original)
        content = override.content
        if content is None:
            bare = [original, _time("DTSTART", override.original), "STATUS:CANCELLED"]
            length = event.content.end.instant - event.content.start.instant
            end = override.original.later(length)
            lines += _wrapped(event.uid, [*bare, _time("DTEND", end)])
            continue
        status = ["STATUS:CANCELLED"] if override.cancelled else []
        lines += _component(event.uid, content, [original, *status])
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def _component(uid, content, more):
    lines = [_time("DTSTART", content.start), _time("DTEND", content.end), *more]
    texts = {
        "SUMMARY": content.title,
        "DESCRIPTION": content.description,
        "LOCATION": content.location,
        "CONFERENCE;VALUE=URI": content.video_link,
    }
    lines += [
        f"{name}:{text if 'URI' in name else _escaped(text)}"
        for name, text in texts.items()
        if text
    ]
    if content.categories:
        lines.append("CATEGORIES:" + ",".join(map(_escaped, content.categories)))
    if content.organiser is not None:
        lines.append(_person("ORGANIZER", content.organiser))
    lines += [_person("ATTENDEE", guest) for guest in content.attendees]
    if content.status != "confirmed" and "STATUS:CANCELLED" not in lines:
        lines.append(f"STATUS:{content.status.upper()}")
    if content.shows_as == "free":
        lines.append("TRANSP:TRANSPARENT")
    elif content.shows_as != "busy":
        lines.append(f"X-MICROSOFT-CDO-BUSYSTATUS:{content.shows_as.upper()}")
    return _wrapped(uid, lines)


def _wrapped(uid, lines):
    return ["BEGIN:VEVENT", f"UID:{uid}", "DTSTAMP:20260101T000000Z", *lines, "END:VEVENT"]


def _recurrence(recurrence):
    if recurrence is None:
        return []
    # Radicale refuses an object with RSCALE, and Xandikos fails for the calendar that has one.
    lines = [f"RRULE:{rule.removeprefix('RSCALE=GREGORIAN;')}" for rule in recurrence.rules]
    lines += [_time("RDATE", start) for start in recurrence.added]
    return lines + [_time("EXDATE", start) for start in recurrence.dropped]


def _time(name, time: EventTime):
    if time.is_day:
        return f"{name};VALUE=DATE:{time.local:%Y%m%d}"
    if time.zone == "UTC":
        return f"{name}:{time.local:%Y%m%dT%H%M%S}Z"
    return f"{name};TZID={time.zone}:{time.local:%Y%m%dT%H%M%S}"


def _person(name, person):
    params = f";PARTSTAT={_STATES[person.response]}" if name == "ATTENDEE" else ""
    if person.name:
        params += f';CN="{_parameter(person.name)}"'
    if person.is_resource:
        params += ";CUTYPE=ROOM"
    return f"{name}{params}:mailto:{person.email}"


_STATES = {
    "accepted": "ACCEPTED",
    "declined": "DECLINED",
    "tentative": "TENTATIVE",
    "needsAction": "NEEDS-ACTION",
}


def _parameter(text):
    """RFC 6868, section 3.1."""
    for character, code in (("^", "^^"), ("\n", "^n"), ('"', "^'")):
        text = text.replace(character, code)
    return text


def _escaped(text):
    for character in "\\;,":
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", "\\n")
