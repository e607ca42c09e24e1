"""
Values of columns as mutations take them: one parser per type, from input JSON to stored value.

Most columns also take a short form, a text. ``None``, ``""`` and ``{}`` clear a column. See
docs/spec/upstream/monday.md#write-values.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, time
from types import MappingProxyType
from typing import Any

from sandbox.boards.labels import ColumnWrite

MAX_TEXT_LENGTH = 2_000  # characters of a long text
_EMPTY: tuple[Any, ...] = (None, "", {}, [])
_TIMES = re.compile(r"[0-2]\d:[0-5]\d(:[0-5]\d)?")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[+()\d\s.-]{3,}")


def parse_value(write: ColumnWrite, value: Any) -> Any:
    """
    Return the value to store; None clears the column.

    Raises:
        BadColumnValue: The column cannot take *value*, or columns of its type are read-only.
    """
    parser = PARSERS.get(write.column.type)
    if parser is None:
        raise write.error(f"column type {write.column.type} cannot be changed")
    return None if value in _EMPTY else parser(write, value)


def _text(write: ColumnWrite, value: Any) -> Any:
    text: Any = value.get("text") if isinstance(value, dict) else value
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise write.error()
    return str(text)


def _long_text(write: ColumnWrite, value: Any) -> Any:
    text = _text(write, value)
    if len(text) > MAX_TEXT_LENGTH:
        raise write.error(f"text is longer than {MAX_TEXT_LENGTH} characters")
    return write.with_timestamp(text=text) if text else None


def _number(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise write.error()
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise write.error() from None
    if not math.isfinite(number):
        raise write.error()
    return str(value).strip()


def _status(write: ColumnWrite, value: Any) -> Any:
    index = write.labels.status_index(write, value)
    return None if index is None else write.with_timestamp(index=index, post_id=None)


def _dropdown(write: ColumnWrite, value: Any) -> Any:
    ids = write.labels.dropdown_ids(write, value)
    return write.with_timestamp(ids=ids) if ids else None


def _date(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        day, time_of_day = _split_first(value.strip().replace("T", " "))
        value = {"date": day, "time": time_of_day or None}
    if not isinstance(value, dict):
        raise write.error()
    if not value.get("date"):
        return None
    time_of_day = _time_of_day(write, value.get("time") or None)
    day = _day(write, value["date"])
    return write.with_timestamp(date=day, time=time_of_day, icon=value.get("icon", ""))


def _time_of_day(write: ColumnWrite, value: Any) -> str | None:
    if value is None:
        return None
    if not (isinstance(value, str) and _TIMES.fullmatch(value)):
        raise write.error()
    try:
        return time.fromisoformat(value).isoformat()
    except ValueError:
        raise write.error() from None


def _timeline(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        start, _, end = value.partition(",")
        value = {"from": start.strip(), "to": end.strip()}
    if not isinstance(value, dict):
        raise write.error()
    start, end = _day(write, value.get("from")), _day(write, value.get("to"))
    if end < start:
        raise write.error("the end of a timeline is not before its start")
    return write.with_timestamp(**{"from": start, "to": end})


def _people(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        value = {"personsAndTeams": [{"id": part.strip()} for part in value.split(",")]}
    members = value.get("personsAndTeams") if isinstance(value, dict) else None
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise write.error()
    stored = []
    for member in members:
        kind = member.get("kind", "person")
        table = write.store.teams if kind == "team" else write.store.users
        if kind not in ("person", "team") or table.find(str(member.get("id"))) is None:
            raise write.error(f"invalid value - {kind} {member.get('id')} is not on this account")
        stored.append({"id": int(str(member["id"])), "kind": kind})
    return write.with_timestamp(personsAndTeams=stored) if stored else None


def _checkbox(write: ColumnWrite, value: Any) -> Any:
    checked = value.get("checked") if isinstance(value, dict) else value
    if str(checked).lower() not in {"true", "false", "none"}:
        raise write.error()
    return write.with_timestamp(checked=True) if str(checked).lower() == "true" else None


def _email(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        head, text = _split_first(value)
        value = {"email": head, "text": text or head}
    address = value.get("email") if isinstance(value, dict) else None
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise write.error("invalid value - email is not in the right format")
    return write.with_timestamp(email=address, text=str(value.get("text") or address))


def _phone(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        head, _, country = value.rpartition(" ")
        head, country = (head, country) if country.isalpha() else (value, "")
        value = {"phone": head, "countryShortName": country}
    number = value.get("phone") if isinstance(value, dict) else None
    if not isinstance(number, str) or not _PHONE.fullmatch(number):
        raise write.error()
    return write.with_timestamp(phone=number, countryShortName=value.get("countryShortName") or "")


def _link(write: ColumnWrite, value: Any) -> Any:
    if isinstance(value, str):
        url, text = _split_first(value)
        value = {"url": url, "text": text or url}
    url = value.get("url") if isinstance(value, dict) else None
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "mailto:")):
        raise write.error("invalid value - link must start with http:// or https://")
    return write.with_timestamp(url=url, text=str(value.get("text") or url))


def _rating(write: ColumnWrite, value: Any) -> Any:
    stars = value.get("rating") if isinstance(value, dict) else value
    max_stars = int(write.column.settings.get("limit", 5))
    if not str(stars).isdecimal() or not 0 <= int(str(stars)) <= max_stars:
        raise write.error()
    return write.with_timestamp(rating=int(str(stars))) if int(str(stars)) else None


def _tags(write: ColumnWrite, value: Any) -> Any:
    ids = value.get("tag_ids") if isinstance(value, dict) else value
    ids = ids.split(",") if isinstance(ids, str) else ids
    if not isinstance(ids, list):
        raise write.error()
    tag_ids = [str(tag_id).strip() for tag_id in ids]
    if any(write.store.tags.find(tag_id) is None for tag_id in tag_ids):
        raise write.error("invalid value - tag is not on this account")
    return {"tag_ids": [int(tag_id) for tag_id in tag_ids]} if tag_ids else None


def _relation(write: ColumnWrite, value: Any) -> Any:
    ids = value.get("item_ids") if isinstance(value, dict) else value
    ids = ids.split(",") if isinstance(ids, str) else ids
    if not isinstance(ids, list):
        raise write.error()
    boards = {str(board_id) for board_id in write.column.settings.get("boardIds", ())}
    links = []
    for item_id in ids:
        item = write.store.items.find(str(item_id).strip())
        if item is None or (boards and item.owner not in boards):
            raise write.error("invalid value - item is not on a connected board")
        links.append({"linkedPulseId": int(item.id)})
    return write.with_timestamp(linkedPulseIds=links) if links else None


def _hour(write: ColumnWrite, value: Any) -> Any:
    try:
        hour, minute = int(value["hour"]), int(value.get("minute", 0))
        time(hour, minute)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        raise write.error() from None
    return write.with_timestamp(hour=hour, minute=minute)


def _country(write: ColumnWrite, value: Any) -> Any:
    if not isinstance(value, dict) or len(str(value.get("countryCode", ""))) != 2:
        raise write.error()
    return write.with_timestamp(
        countryCode=value["countryCode"], countryName=str(value.get("countryName", ""))
    )


def _week(write: ColumnWrite, value: Any) -> Any:
    week = value.get("week") if isinstance(value, dict) else None
    if not isinstance(week, dict):
        raise write.error()
    start, end = _day(write, week.get("startDate")), _day(write, week.get("endDate"))
    return write.with_timestamp(week={"startDate": start, "endDate": end})


def _split_first(text: str) -> tuple[Any, Any]:
    """Return the text before and after the first space."""
    before, _, after = text.partition(" ")
    return before, after


def _day(write: ColumnWrite, text: Any) -> str:
    try:
        return date.fromisoformat(text if len(text) == 10 else "").isoformat()
    except (TypeError, ValueError):
        raise write.error("invalid value - date is not YYYY-MM-DD") from None


Parser = Callable[[ColumnWrite, Any], Any]

# Columns of types without a parser are read-only.
PARSERS: Mapping[str, Parser] = MappingProxyType(
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
