"""
Generated upstream responses, the same bytes for both sides.

A page is 50 messages with 5 people each and 2 attachments on every other message; the calendar has
1,000 events with 4 attendees. As upstream, a response has only the members that a request selects.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

PAGE, EVENTS, EVENTS_PER_ANSWER = 50, 1000, 500
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
AGENDA_STARTS = datetime(2026, 11, 21, tzinfo=UTC)
AGENDA_ENDS = AGENDA_STARTS + timedelta(days=60)
CALENDAR = "AAMkCalendar="
BODY = "<p>" + "The quarterly figures are attached; please read them before the meeting. " * 20
WORDS = [
    "budget",
    "lease",
    "minutes",
    "invoice",
    "quarter",
    "launch",
    "travel",
    "review",
    "draft",
    "contract",
]
PART = re.compile(rb"Content-ID: <item-(\d+)>\r\n\r\nGET (\S+) HTTP")


@dataclass(frozen=True)
class Reply:
    """A response with status 200."""

    body: bytes
    content_type: str = "application/json"


@dataclass
class Corpus:
    """
    The accounts behind one connection of each provider.

    Attributes:
        seed: Accounts of another seed have other ids and times.
        size: Messages in the mailbox.
        events: Events in the calendar.
        base: Start of every `nextLink`.
        selective: Whether responses hold only selected members; if not, all members but bodies.
    """

    seed: int = 0
    size: int = PAGE
    events: int = EVENTS
    base: str = "http://upstream.invalid"
    selective: bool = True
    _known: dict[tuple[str, bytes], Reply] = field(default_factory=dict)

    def reply(self, target: str, body: bytes = b"") -> Reply:
        """Return the response to a path with its query; equal requests get the same bytes."""
        key = (target, body)
        if key not in self._known:
            self._known[key] = self._build(target, body)
        return self._known[key]

    def _build(self, target: str, body: bytes) -> Reply:
        parts = urlsplit(target)
        path, query = unquote(parts.path), parse_qs(parts.query)
        segments = path.strip("/").split("/")
        if segments[0] == "batch":
            return self._batch(body)
        if segments[0] == "gmail":
            return _json(self._a(segments[4:]))
        return _json(self._b(segments[2:], query, target))

    # -- provider A

    def _a(self, words: list[str]) -> Any:
        if words == ["labels"]:
            return {
                "labels": [
                    {"id": "INBOX", "name": "INBOX", "type": "system"},
                    {"id": "Label_1", "name": "Home", "type": "user"},
                ]
            }
        if words == ["messages"]:
            ids = [{"id": mail["id"], "threadId": mail["threadId"]} for mail in self._mails_a()]
            return {"messages": ids, "resultSizeEstimate": len(ids)}
        return next(mail for mail in self._mails_a() if mail["id"] == words[1])

    def _mails_a(self) -> list[dict[str, Any]]:
        return [self._mail_a(at) for at in range(self.size)]

    def _mail_a(self, at: int) -> dict[str, Any]:
        mail = self._mail(at)

        def people(which: str) -> str:
            return ", ".join(f"{name} <{address}>" for name, address in mail[which])

        headers = {
            "Delivered-To": "me@home.example",
            "From": people("from"),
            "To": people("to"),
            "Cc": people("cc"),
            "Bcc": people("bcc"),
            "Subject": mail["subject"],
            "Date": mail["sent"].strftime("%a, %d %b %Y %H:%M:%S +0000"),
            "Message-ID": f"<{mail['id']}@work.example>",
            "MIME-Version": "1.0",
            "Importance": "normal",
        }
        text = {
            "partId": "0",
            "mimeType": "text/html",
            "filename": "",
            "headers": [{"name": "Content-Type", "value": "text/html; charset=utf-8"}],
            "body": {"size": len(BODY)},
        }
        files = [
            {
                "partId": str(n + 1),
                "mimeType": "application/pdf",
                "filename": f"file{n}.pdf",
                "headers": [{"name": "Content-Disposition", "value": "attachment"}],
                "body": {"size": 12345 + n, "attachmentId": f"ANGjd{at}_{n}"},
            }
            for n in range(mail["files"])
        ]
        return {
            "id": f"18c{self.seed:03x}{at:06x}",
            "threadId": f"18t{self.seed:03x}{at:06x}",
            "labelIds": ["INBOX", "Label_1"],
            "snippet": mail["preview"],
            "internalDate": str(int(mail["received"].timestamp() * 1000)),
            "payload": {
                "partId": "",
                "mimeType": "multipart/mixed",
                "filename": "",
                "headers": [{"name": name, "value": value} for name, value in headers.items()],
                "body": {"size": 0},
                "parts": [text, *files],
            },
        }

    def _batch(self, body: bytes) -> Reply:
        pieces = []
        for number, target in PART.findall(body):
            inner = self.reply(target.decode()).body
            pieces.append(
                b"--batch_x\r\nContent-Type: application/http\r\n"
                b"Content-ID: <response-item-%s>\r\n\r\nHTTP/1.1 200 OK\r\n"
                b"Content-Type: application/json; charset=UTF-8\r\nContent-Length: %d\r\n\r\n%s\r\n"
                % (number, len(inner), inner)
            )
        return Reply(b"".join(pieces) + b"--batch_x--\r\n", "multipart/mixed; boundary=batch_x")

    # -- provider B

    def _b(self, words: list[str], query: Mapping[str, list[str]], target: str) -> Any:
        if words[0] == "mailFolders":
            return {"id": f"AAMkFolder{words[1]}="}
        if words == ["calendars"]:
            return {"value": [{"id": CALENDAR, "name": "Calendar", "isDefaultCalendar": True}]}
        keep = set(query["$select"][0].split(",")) if "$select" in query else None
        if "$expand" in query and keep is not None:
            keep.add("attachments")
        if not self.selective:
            keep = None if words[0] == "calendars" else set(self._mail_b(0)) - {"body"}
        if words[0] == "calendars":
            skip = int(query.get("$skip", ["0"])[0])
            until = min(skip + EVENTS_PER_ANSWER, self.events)
            page: dict[str, Any] = {
                "value": [_only(self._event(at), keep) for at in range(skip, until)]
            }
            if until < self.events:
                plain = target.partition("&$skip=")[0]
                page["@odata.nextLink"] = f"{self.base}{plain}&$skip={until}"
            return page
        if words == ["messages"]:
            messages = [_only(self._mail_b(at), keep) for at in range(self.size)]
            return {"@odata.count": self.size, "value": messages}
        at = int.from_bytes(bytes.fromhex(words[1].removeprefix("AAMk").rstrip("=")[-6:]))
        return _only(self._mail_b(at), keep)

    def _mail_b(self, at: int) -> dict[str, Any]:
        mail = self._mail(at)

        def people(which: str) -> list[Any]:
            return [_recipient(name, address) for name, address in mail[which]]

        return {
            "@odata.etag": f'W/"CQAAABYAAAB{at:06d}"',
            "id": f"AAMk{self.seed:03x}{at:06x}=",
            "receivedDateTime": _iso(mail["received"]),
            "isDraft": False,
            "parentFolderId": "AAMkFolderinbox=",
            "conversationId": f"AAQk{self.seed:03x}{at:06x}=",
            "subject": mail["subject"],
            "from": people("from")[0],
            "sender": people("from")[0],
            "toRecipients": people("to"),
            "ccRecipients": people("cc"),
            "bccRecipients": people("bcc"),
            "bodyPreview": mail["preview"],
            "body": {"contentType": "html", "content": BODY},
            "sentDateTime": _iso(mail["sent"]),
            "isRead": True,
            "hasAttachments": bool(mail["files"]),
            "categories": ["Home"],
            "importance": "normal",
            "attachments": [
                {
                    "@odata.type": "#microsoft.graph.fileAttachment",
                    "id": f"AAMkFile{at}_{n}=",
                    "name": f"file{n}.pdf",
                    "contentType": "application/pdf",
                    "size": 12345 + n,
                    "isInline": False,
                }
                for n in range(mail["files"])
            ],
        }

    def _event(self, at: int) -> dict[str, Any]:
        start = AGENDA_STARTS + timedelta(hours=at * 60 * 24 / self.events)
        start = start.replace(microsecond=0)
        end = start + timedelta(minutes=45)
        return {
            "id": f"AAMkEvent{self.seed:03x}{at:06x}=",
            "start": {"dateTime": start.strftime("%Y-%m-%dT%H:%M:%S.0000000"), "timeZone": "UTC"},
            "end": {"dateTime": end.strftime("%Y-%m-%dT%H:%M:%S.0000000"), "timeZone": "UTC"},
            "isCancelled": False,
            "subject": f"Meeting {at} about {WORDS[at % len(WORDS)]}",
            "body": {"contentType": "text", "content": "Agenda and papers are in the folder. " * 3},
            "location": {"displayName": f"Room {at % 20}", "locationType": "default"},
            "isAllDay": False,
            "showAs": "busy",
            "organizer": _recipient("Carla Organiser", "carla@work.example"),
            "attendees": [
                {
                    **_recipient(f"Guest {n}", f"guest{n}.{at}@work.example"),
                    "type": "required",
                    "status": {"response": "accepted", "time": "0001-01-01T00:00:00Z"},
                }
                for n in range(4)
            ],
            "onlineMeeting": {"joinUrl": f"https://meet.work.example/{at:08x}"},
            "onlineMeetingUrl": None,
            "categories": ["Work"],
            "type": "singleInstance",
        }

    # -- both

    def _mail(self, at: int) -> dict[str, Any]:
        chance = random.Random(self.seed * 100_000 + at)
        received = NOON - timedelta(minutes=7 * at + self.seed % 7, seconds=self.seed)
        subject = " ".join(chance.choice(WORDS) for _ in range(6)).capitalize()
        person = [
            (f"Person {chance.randrange(999)} Surname", f"p{n}.{at}@work.example") for n in range(5)
        ]
        return {
            "id": f"{self.seed:03x}-{at:06x}",
            "from": person[:1],
            "to": person[1:3],
            "cc": person[3:4],
            "bcc": person[4:],
            "subject": subject,
            "preview": ("Hello, " + " ".join(chance.choice(WORDS) for _ in range(30)))[:200],
            "received": received,
            "sent": received - timedelta(seconds=3),
            "files": 2 if at % 2 == 0 else 0,
        }


def id_b(at: int, seed: int = 0) -> str:
    """Return provider B's id of a message."""
    return f"AAMk{seed:03x}{at:06x}="


def _only(thing: dict[str, Any], keep: set[str] | None) -> dict[str, Any]:
    if keep is None:
        return thing
    return {name: value for name, value in thing.items() if name in keep or name[0] == "@"}


def _recipient(name: str, address: str) -> dict[str, Any]:
    return {"emailAddress": {"name": name, "address": address}}


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(value: Any) -> Reply:
    return Reply(orjson.dumps(value))
