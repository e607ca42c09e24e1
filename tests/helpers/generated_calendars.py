"""Calendar objects by chance: series of every rule and form of time that programs write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Etc/GMT+3")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# Europe/Berlin under a name that no table has.
DEFINED = "Office of Berlin"
DEFINITION = f"""BEGIN:VTIMEZONE
TZID:{DEFINED}
BEGIN:STANDARD
DTSTART:19701025T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
END:VTIMEZONE""".splitlines()


@dataclass(frozen=True)
class GeneratedCalendar:
    """
    One calendar object.

    Attributes:
        text: iCalendar.
        rule: The recurrence rule without COUNT and UNTIL, "" for none.
        first: The first start, by its own clock.
        start, end: The range to expand.
    """

    text: str
    rule: str
    first: datetime
    start: datetime
    end: datetime


EVERY_ZONE = (None, "UTC", "floating", DEFINED, *ZONES, *ZONES)  # None: whole days


def generated_calendar(
    chance: Random, zones: Sequence[str | None] = EVERY_ZONE
) -> GeneratedCalendar:
    """Write a series or a single event, and choose a range that it may meet."""
    return _Writer(chance, zones).write()


class _Writer:
    def __init__(self, chance: Random, zones: Sequence[str | None]) -> None:
        self.chance = chance
        self.zone = chance.choice(zones)
        day = datetime(2024, 1, 1) + timedelta(days=chance.randrange(700))  # noqa: DTZ001 - local
        clock = timedelta(hours=chance.randrange(4, 22), minutes=chance.choice([0, 0, 30]))
        self.first = day if self.zone is None else day + clock
        self.length = timedelta(
            days=chance.choice([1, 1, 2]) if self.zone is None else 0,
            minutes=0 if self.zone is None else chance.choice([0, 30, 60, 90]),
        )

    def write(self) -> GeneratedCalendar:
        chance = self.chance
        rule = "" if chance.random() < 0.1 else generated_rule(chance, day=self.zone is None)
        lines = [self.time("DTSTART", self.first), *self.end(self.first), "SUMMARY:master"]
        if rule:
            lines.append(f"RRULE:{self.with_end(rule)}")
        lines += self.dates("RDATE") if chance.random() < 0.25 else []
        likely = self.starts(rule)
        chance.shuffle(likely)
        if rule and chance.random() < 0.3:
            lines += [self.time("EXDATE", likely.pop()) for _ in range(2)]
        events = [lines]
        has_overrides = rule and "BYHOUR" not in rule
        for number in range(chance.choice([0, 0, 0, 1, 2]) if has_overrides else 0):
            original = likely.pop()
            moved = original + timedelta(days=chance.randrange(-3, 4))
            events.append(
                [
                    self.time("RECURRENCE-ID", original),
                    self.time("DTSTART", moved),
                    *self.end(moved),
                    f"SUMMARY:override {number}",
                    f"SEQUENCE:{number}",
                ]
            )
        chance.shuffle(events)
        start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=chance.randrange(900))
        end = start + timedelta(days=chance.choice([1, 7, 31, 366]))
        text = _calendar(events, DEFINITION if self.zone == DEFINED else [])
        return GeneratedCalendar(text, rule, self.first, start, end)

    def time(self, name: str, local: datetime) -> str:
        if self.zone is None:
            return f"{name};VALUE=DATE:{local:%Y%m%d}"
        stamp = f"{local:%Y%m%dT%H%M%S}"
        if self.zone == "floating":
            return f"{name}:{stamp}"
        return f"{name}:{stamp}Z" if self.zone == "UTC" else f"{name};TZID={self.zone}:{stamp}"

    def end(self, start: datetime) -> list[str]:
        minutes = int(self.length.total_seconds() // 60)
        form = self.chance.choice(["DTEND", "DTEND", "DURATION", "none"])
        if form == "DTEND":
            return [self.time("DTEND", start + self.length)]
        if form == "none":
            return []
        return [f"DURATION:P{self.length.days}D" if self.zone is None else f"DURATION:PT{minutes}M"]

    def with_end(self, rule: str) -> str:
        match self.chance.choice(["endless", "COUNT", "UNTIL"]):
            case "COUNT":
                return f"{rule};COUNT={self.chance.randrange(1, 40)}"
            case "UNTIL":
                until = self.first + timedelta(days=self.chance.randrange(0, 700))
                if self.zone is None:
                    return f"{rule};UNTIL={until:%Y%m%d}"
                if self.zone == "floating":
                    return f"{rule};UNTIL={until:%Y%m%dT%H%M%S}"
                return f"{rule};UNTIL={self.utc(until):%Y%m%dT%H%M%SZ}"
        return rule

    def utc(self, local: datetime) -> datetime:
        name = {DEFINED: "Europe/Berlin"}.get(self.zone, self.zone)
        return local.replace(tzinfo=ZoneInfo(name)).astimezone(UTC)

    def dates(self, name: str) -> list[str]:
        later = [self.first + timedelta(days=self.chance.randrange(1, 400)) for _ in range(2)]
        if self.zone is not None and self.chance.random() < 0.4:
            written = self.time(f"{name};VALUE=PERIOD", later[0])
            return [f"{written}/PT{self.chance.choice([15, 45, 120])}M"]
        return [self.time(name, moment) for moment in later]

    def starts(self, rule: str) -> list[datetime]:
        """Return likely starts of a rule, by its frequency alone."""
        interval = int(rule.partition("INTERVAL=")[2].partition(";")[0] or 1)
        days = {"DAILY": 1, "WEEKLY": 7, "HOURLY": 1}.get(rule[5:].partition(";")[0], 30)
        return [self.first + timedelta(days=number * days * interval) for number in range(12)]


def generated_rule(chance: Random, *, day: bool) -> str:
    """Return a valid rule without COUNT and UNTIL."""
    frequency = chance.choice(["DAILY", "WEEKLY", "WEEKLY", "MONTHLY", "MONTHLY", "YEARLY"])
    parts = [f"FREQ={frequency}"]
    interval = chance.choice([1, 1, 1, 2, 3, 5])
    parts += [f"INTERVAL={interval}"] if interval > 1 else []
    weekdays = ",".join(chance.sample(WEEKDAYS, chance.randrange(1, 4)))
    weekday_pair = ",".join(chance.sample(WEEKDAYS, 2))
    nth = ",".join(f"{chance.choice([1, 2, 3, 4, -1, -2])}{name}" for name in weekdays.split(","))
    month_days = ",".join(str(chance.choice([*range(1, 32), -1, -2])) for _ in range(2))
    months = ",".join(map(str, sorted(chance.sample(range(1, 13), 3))))
    choices = {
        "DAILY": [[], [f"BYDAY={weekdays}"], [f"BYMONTH={months}"]],
        "WEEKLY": [
            [], [f"BYDAY={weekdays}"], [f"BYDAY={weekdays}", f"WKST={chance.choice(WEEKDAYS)}"],
            [f"BYDAY={weekday_pair}", f"BYSETPOS={chance.choice([1, 2, -1])}"],
        ],
        "MONTHLY": [
            [], [f"BYDAY={nth}"], [f"BYMONTHDAY={month_days}"], [f"BYDAY={weekdays}"],
            ["BYDAY=MO,TU,WE,TH,FR", f"BYSETPOS={chance.choice([1, 2, -1, -2])}"],
            [f"BYDAY={weekdays}", f"BYMONTHDAY={month_days}"], [f"BYMONTH={months}"],
        ],
        "YEARLY": [
            [], [f"BYMONTH={months}"], [f"BYMONTH={months}", f"BYDAY={nth}"],
            [f"BYYEARDAY={chance.choice([1, 60, 100, 365, 366, -1, -100])}"],
            [f"BYWEEKNO={chance.choice([1, 20, 52, 53])}"],
            [f"BYWEEKNO={chance.choice([2, 20, 40])}", f"BYDAY={weekdays}"],
            [f"BYMONTH={months}", f"BYMONTHDAY={month_days}"], [f"BYDAY=20{weekdays[:2]}"],
        ],
    }  # fmt: skip
    parts += chance.choice(choices[frequency])
    if not day and "BYSETPOS" not in parts[-1] and frequency != "YEARLY" and chance.random() < 0.05:
        parts.append("BYHOUR=9,17")
    return ";".join(parts)


def _calendar(events: list[list[str]], definition: list[str]) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN", *definition]
    for event in events:
        lines += ["BEGIN:VEVENT", "UID:u", "DTSTAMP:20240101T000000Z", *event, "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])
