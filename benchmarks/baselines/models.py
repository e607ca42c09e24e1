"""Pydantic models of the documented responses, and mappings from upstream JSON to them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import getaddresses
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field

_EVENTS = UUID("6f1c1c0e-52d5-5c8e-9a2b-7b1f0a6a4d11")
NOTHING: frozenset[str] = frozenset()


class Participant(BaseModel):
    email: str
    name: str | None = None


class Attachment(BaseModel):
    id: str
    name: str
    contentType: str | None = None  # noqa: N815 - an alias would cost more
    size: int = 0
    isInline: bool = False  # noqa: N815


class Email(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    id: str
    threadId: str | None = None  # noqa: N815
    subject: str | None = None
    from_: Participant | None = Field(default=None, alias="from")
    to: list[Participant] | None = None
    cc: list[Participant] | None = None
    bcc: list[Participant] | None = None
    bodyPreview: str | None = None  # noqa: N815
    body: str | None = None
    bodyType: str | None = None  # noqa: N815
    sentAt: datetime | None = None  # noqa: N815
    receivedAt: datetime | None = None  # noqa: N815
    isRead: bool = False  # noqa: N815
    hasAttachments: bool = False  # noqa: N815
    attachments: list[Attachment] | None = None
    labels: list[str] | None = None
    importance: str | None = None
    provider: str


class EmailAnswer(Email):
    accessInfo: str | None = None  # noqa: N815


class EmailPage(BaseModel):
    emails: list[Email]
    totalCount: int  # noqa: N815
    hasMore: bool  # noqa: N815
    nextPageToken: str | None = None  # noqa: N815
    accessInfo: str | None = None  # noqa: N815
    authWarnings: list[str] | None = None  # noqa: N815


class Attendee(BaseModel):
    email: str
    name: str | None = None
    response: str | None = None


class Event(BaseModel):
    id: str
    title: str | None = None
    description: str | None = None
    location: str | None = None
    startUtc: datetime | None = None  # noqa: N815
    endUtc: datetime | None = None  # noqa: N815
    allDay: bool | None = None  # noqa: N815
    status: str | None = None
    organizer: str | None = None
    attendees: list[Attendee] | None = None
    joinUrl: str | None = None  # noqa: N815
    labels: list[str] | None = None
    isRecurringEvent: bool | None = None  # noqa: N815


class EventPageMeta(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    count: int
    offset: int
    totalCount: int  # noqa: N815
    hasMore: bool  # noqa: N815
    from_: datetime = Field(alias="from")
    to: datetime


class EventPage(BaseModel):
    events: list[Event]
    accessInfo: str | None = None  # noqa: N815
    currentUserCalendarEmail: str | None = None  # noqa: N815
    authWarnings: list[str] | None = None  # noqa: N815
    meta: EventPageMeta


# -- provider B


def email_b(wire: Mapping[str, Any], hidden: Collection[str], kind: type[Email] = Email) -> Email:
    """Build the model without hidden members."""
    body = wire.get("body") or {}
    sees = _seeing(hidden)
    return kind(
        id=f"providerB:{wire['id']}",
        threadId=f"providerB:{wire['conversationId']}",
        subject=wire["subject"] if sees("subject") else None,
        from_=_person(wire["from"]) if sees("from") else None,
        to=[_person(person) for person in wire["toRecipients"]] if sees("to") else None,
        cc=[_person(person) for person in wire["ccRecipients"]] if sees("cc") else None,
        bcc=[_person(person) for person in wire["bccRecipients"]] if sees("bcc") else None,
        bodyPreview=wire["bodyPreview"] if sees("bodyPreview") else None,
        body=body.get("content") if sees("body") else None,
        bodyType=body.get("contentType") if sees("body") else None,
        sentAt=datetime.fromisoformat(wire["sentDateTime"]) if sees("sentAt") else None,
        receivedAt=datetime.fromisoformat(wire["receivedDateTime"]) if sees("receivedAt") else None,
        isRead=wire["isRead"],
        hasAttachments=wire["hasAttachments"],
        attachments=[_file(file) for file in wire["attachments"]] if sees("attachments") else None,
        labels=wire["categories"] if sees("labels") else None,
        importance=wire["importance"] if sees("importance") else None,
        provider="PROVIDER_B",
    )


def _seeing(hidden: Collection[str]) -> Any:
    return lambda name: name not in hidden


def _person(wire: Mapping[str, Any]) -> Participant:
    address = wire["emailAddress"]
    return Participant(email=address["address"], name=address["name"])


def _file(wire: Mapping[str, Any]) -> Attachment:
    return Attachment(
        id=wire["id"],
        name=wire["name"],
        contentType=wire["contentType"],
        size=wire["size"],
        isInline=wire["isInline"],
    )


def event_b(wire: Mapping[str, Any], place: str, hidden: Collection[str]) -> Event:
    """Build the model without hidden members."""
    sees = _seeing(hidden)
    return Event(
        id=str(uuid5(_EVENTS, f"{place}|{wire['id']}")),
        title=wire["subject"] if sees("title") else None,
        description=wire["body"]["content"] if sees("description") else None,
        location=wire["location"]["displayName"] if sees("location") else None,
        startUtc=_utc(wire["start"]["dateTime"]),
        endUtc=_utc(wire["end"]["dateTime"]),
        allDay=wire["isAllDay"],
        status="cancelled" if wire["isCancelled"] else "confirmed",
        organizer=wire["organizer"]["emailAddress"]["address"] if sees("organizer") else None,
        attendees=[_guest(guest) for guest in wire["attendees"]] if sees("attendees") else None,
        joinUrl=wire["onlineMeeting"]["joinUrl"] if sees("joinUrl") else None,
        labels=wire["categories"] if sees("labels") else None,
        isRecurringEvent=wire["type"] != "singleInstance",
    )


def _guest(wire: Mapping[str, Any]) -> Attendee:
    address = wire["emailAddress"]
    return Attendee(
        email=address["address"], name=address["name"], response=wire["status"]["response"]
    )


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# -- provider A


def email_a(wire: Mapping[str, Any], hidden: Collection[str], labels: Mapping[str, str]) -> Email:
    """Build the model of a message from its headers and parts."""
    head = {header["name"].lower(): header["value"] for header in wire["payload"]["headers"]}
    files = [part for part in wire["payload"]["parts"] if part["filename"]]
    sees = _seeing(hidden)
    received = datetime.fromtimestamp(int(wire["internalDate"]) / 1000, UTC)
    return Email(
        id=f"providerA:{wire['id']}",
        threadId=f"providerA:{wire['threadId']}",
        subject=head["subject"] if sees("subject") else None,
        from_=_people(head["from"])[0] if sees("from") else None,
        to=_people(head["to"]) if sees("to") else None,
        cc=_people(head["cc"]) if sees("cc") else None,
        bcc=_people(head["bcc"]) if sees("bcc") else None,
        bodyPreview=wire["snippet"] if sees("bodyPreview") else None,
        sentAt=datetime.strptime(head["date"], "%a, %d %b %Y %H:%M:%S %z")
        if sees("sentAt")
        else None,
        receivedAt=received if sees("receivedAt") else None,
        isRead="UNREAD" not in wire["labelIds"],
        hasAttachments=bool(files),
        attachments=[_part(wire["id"], part) for part in files] if sees("attachments") else None,
        labels=[labels[label_id] for label_id in wire["labelIds"]] if sees("labels") else None,
        importance=head["importance"] if sees("importance") else None,
        provider="PROVIDER_A",
    )


def _people(header: str) -> list[Participant]:
    return [Participant(email=address, name=name) for name, address in _addresses(header)]


@lru_cache(4096)
def _addresses(header: str) -> Sequence[tuple[str, str]]:
    return getaddresses([header])


def _part(message_id: str, wire: Mapping[str, Any]) -> Attachment:
    return Attachment(
        id=f"{message_id}.{wire['partId']}",
        name=wire["filename"],
        contentType=wire["mimeType"],
        size=wire["body"]["size"],
    )


def page(emails: Sequence[Email], *, limit: int, access_info: str | None) -> EmailPage:
    """Build the page of all messages."""
    return EmailPage(
        emails=list(emails[:limit]),
        totalCount=len(emails),
        hasMore=len(emails) > limit,
        accessInfo=access_info,
    )
