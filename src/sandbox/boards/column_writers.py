"""
What a column takes: one writer per column type, from the JSON of a call to the kept ``value``.

A text is the short form that most columns take; ``None``, ``""`` and ``{}`` clear a column.
Source: reference/wire.md 1C.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from types import MappingProxyType
from typing import Any

from sandbox.boards.errors import BadColumnValue
from sandbox.boards.labels import LabelBook
from sandbox.boards.records import Column
from sandbox.boards.store import BoardStore

LONGEST_TEXT = 2_000  # characters of a long text; the wire's own limit
_EMPTY: tuple[Any, ...] = (None, "", {}, [])
_TIMES = re.compile(r"[0-2]\d:[0-5]\d(:[0-5]\d)?")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[+()\d\s.-]{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """One column being written: *at* is the time that its value carries."""

    store: BoardStore
    column: Column
    labels: LabelBook
    at: str

    def stamped(self, **value: Any) -> dict[str, Any]:
        """Return a value with the time of its change."""
        return {**value, "changed_at": self.at}

    def bad(self, problem: str = "invalid value") -> BadColumnValue:
        """Say what is wrong."""
        return BadColumnValue(self.column.type, problem)


def write(writing: Writing, given: Any) -> Any:
    """
    Return the value to keep, None for a cleared column.

    Raises:
        BadColumnValue: The column cannot take what is given, or can never be written.
    """
    writer = WRITERS.get(writing.column.type)
    if writer is None:
        raise writing.bad(f"column type {writing.column.type} cannot be changed")
    return None if given in _EMPTY else writer(writing, given)


def _text(writing: Writing, given: Any) -> Any:
    text: Any = given.get("text") if isinstance(given, dict) else given
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise writing.bad()
    return str(text)


def _long_text(writing: Writing, given: Any) -> Any:
    text = _text(writing, given)
    if len(text) > LONGEST_TEXT:
        raise writing.bad(f"text is longer than {LONGEST_TEXT} characters")
    return writing.stamped(text=text) if text else None


def _number(writing: Writing, given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise writing.bad()
    try:
        number = float(given)
    except (ValueError, OverflowError):
        raise writing.bad() from None
    if not math.isfinite(number):
        raise writing.bad()
    return str(given).strip()


def _status(writing: Writing, given: Any) -> Any:
    index = writing.labels.status(writing, given)
    return None if index is None else writing.stamped(index=index, post_id=None)


def _dropdown(writing: Writing, given: Any) -> Any:
    ids = writing.labels.dropdown(writing, given)
    return writing.stamped(ids=ids) if ids else None


def _date(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        day, hour = _halves(given.strip().replace("T", " "))
        given = {"date": day, "time": hour or None}
    if not isinstance(given, dict):
        raise writing.bad()
    if not given.get("date"):
        return None
    hour = given.get("time") or None
    if hour is not None and not (isinstance(hour, str) and _TIMES.fullmatch(hour)):
        raise writing.bad()
    if hour is not None:
        try:
            hour = time.fromisoformat(hour).isoformat()
        except ValueError:
            raise writing.bad() from None
    return writing.stamped(date=_day(writing, given["date"]), time=hour, icon=given.get("icon", ""))


def _timeline(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        start, _, end = given.partition(",")
        given = {"from": start.strip(), "to": end.strip()}
    if not isinstance(given, dict):
        raise writing.bad()
    start, end = _day(writing, given.get("from")), _day(writing, given.get("to"))
    if end < start:
        raise writing.bad("the end of a timeline is not before its start")
    return writing.stamped(**{"from": start, "to": end})


def _people(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        given = {"personsAndTeams": [{"id": part.strip()} for part in given.split(",")]}
    several = given.get("personsAndTeams") if isinstance(given, dict) else None
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise writing.bad()
    kept = []
    for one in several:
        kind = one.get("kind", "person")
        known = writing.store.teams if kind == "team" else writing.store.users
        if kind not in ("person", "team") or known.find(str(one.get("id"))) is None:
            raise writing.bad(f"invalid value - {kind} {one.get('id')} is not on this account")
        kept.append({"id": int(str(one["id"])), "kind": kind})
    return writing.stamped(personsAndTeams=kept) if kept else None


def _checkbox(writing: Writing, given: Any) -> Any:
    checked = given.get("checked") if isinstance(given, dict) else given
    if str(checked).lower() not in {"true", "false", "none"}:
        raise writing.bad()
    return writing.stamped(checked=True) if str(checked).lower() == "true" else None


def _email(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        address, text = _halves(given)
        given = {"email": address, "text": text or address}
    address = given.get("email") if isinstance(given, dict) else None
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise writing.bad("invalid value - email is not in the right format")
    return writing.stamped(email=address, text=str(given.get("text") or address))


def _phone(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        head, _, country = given.rpartition(" ")
        whole = {"phone": given, "countryShortName": ""}
        given = {"phone": head, "countryShortName": country} if country.isalpha() else whole
    number = given.get("phone") if isinstance(given, dict) else None
    if not isinstance(number, str) or not _PHONE.fullmatch(number):
        raise writing.bad()
    return writing.stamped(phone=number, countryShortName=given.get("countryShortName") or "")


def _link(writing: Writing, given: Any) -> Any:
    if isinstance(given, str):
        url, text = _halves(given)
        given = {"url": url, "text": text or url}
    url = given.get("url") if isinstance(given, dict) else None
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "mailto:")):
        raise writing.bad("invalid value - link must start with http:// or https://")
    return writing.stamped(url=url, text=str(given.get("text") or url))


def _rating(writing: Writing, given: Any) -> Any:
    stars = given.get("rating") if isinstance(given, dict) else given
    most = int(writing.column.settings.get("limit", 5))
    if not str(stars).isdecimal() or not 0 <= int(str(stars)) <= most:
        raise writing.bad()
    return writing.stamped(rating=int(str(stars))) if int(str(stars)) else None


def _tags(writing: Writing, given: Any) -> Any:
    ids = given.get("tag_ids") if isinstance(given, dict) else given
    ids = ids.split(",") if isinstance(ids, str) else ids
    if not isinstance(ids, list):
        raise writing.bad()
    kept = [str(id_).strip() for id_ in ids]
    if any(writing.store.tags.find(one) is None for one in kept):
        raise writing.bad("invalid value - tag is not on this account")
    return {"tag_ids": [int(one) for one in kept]} if kept else None


def _relation(writing: Writing, given: Any) -> Any:
    ids = given.get("item_ids") if isinstance(given, dict) else given
    ids = ids.split(",") if isinstance(ids, str) else ids
    if not isinstance(ids, list):
        raise writing.bad()
    boards = {str(board_id) for board_id in writing.column.settings.get("boardIds", ())}
    linked = []
    for id_ in ids:
        item = writing.store.items.find(str(id_).strip())
        if item is None or (boards and item.owner not in boards):
            raise writing.bad("invalid value - item is not on a connected board")
        linked.append({"linkedPulseId": int(item.id)})
    return writing.stamped(linkedPulseIds=linked) if linked else None


def _hour(writing: Writing, given: Any) -> Any:
    try:
        hour, minute = int(given["hour"]), int(given.get("minute", 0))
        time(hour, minute)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        raise writing.bad() from None
    return writing.stamped(hour=hour, minute=minute)


def _country(writing: Writing, given: Any) -> Any:
    if not isinstance(given, dict) or len(str(given.get("countryCode", ""))) != 2:
        raise writing.bad()
    return writing.stamped(
        countryCode=given["countryCode"], countryName=str(given.get("countryName", ""))
    )


def _week(writing: Writing, given: Any) -> Any:
    week = given.get("week") if isinstance(given, dict) else None
    if not isinstance(week, dict):
        raise writing.bad()
    start, end = _day(writing, week.get("startDate")), _day(writing, week.get("endDate"))
    return writing.stamped(week={"startDate": start, "endDate": end})


def _halves(text: str) -> tuple[Any, Any]:
    """Return what stands before the first blank and what stands after."""
    head, _, tail = text.partition(" ")
    return head, tail


def _day(writing: Writing, text: Any) -> str:
    try:
        return date.fromisoformat(text if len(text) == 10 else "").isoformat()
    except (TypeError, ValueError):
        raise writing.bad("invalid value - date is not YYYY-MM-DD") from None


Writer = Callable[[Writing, Any], Any]

# What is missing can never be written.
WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "text": _text,
        "long_text": _long_text,
        "numbers": _number,
        "status": _status,
        "dropdown": _dropdown,
        "date": _date,
        "timeline": _timeline,
        "people": _people,
        "checkbox": _checkbox,
        "email": _email,
        "phone": _phone,
        "link": _link,
        "rating": _rating,
        "tags": _tags,
        "board_relation": _relation,
        "dependency": _relation,
        "hour": _hour,
        "country": _country,
        "week": _week,
    }
)
