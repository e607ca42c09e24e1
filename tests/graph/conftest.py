"""The schema-level harness: real policy and the real `MergedMailbox` over lists of records."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from graph_requests import respond
from in_memory_calendars import MemoryIds

from graph.context import Context, Sealer
from graph.documents.operations import Graph
from graph.emails.account_drafts import narrow_mail
from graph.schema import build
from policy.caller import Caller
from policy.grants import Grant, validate
from providers.calendar.merged_calendars import MergedCalendars
from providers.failures import Missing
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPosition, MailSlice
from providers.records import mail as mail_records

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EVERYTHING = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}


@dataclass
class RecordMailbox:
    """A mail port over records; it remembers every call, and raises `failure` when it is set."""

    emails: list[mail_records.Email]
    calls: list[tuple] = field(default_factory=list)
    failure: Exception | None = None
    sent: mail_records.SentMessage = field(
        default_factory=lambda: mail_records.SentMessage(email_id="new", thread_id="talk")
    )

    async def search(self, query, *, after, projection):
        self._called("search", query, projection)
        emails = sorted(
            (email for email in self.emails if self._matches(email, query)),
            key=lambda email: (-milliseconds(email), email.id),
        )
        rest = [
            email
            for email in emails
            if after is None or (-milliseconds(email), email.id) > (-after.received_ms, after.id)
        ]
        page = tuple(pick(email, projection | {"received_at"}) for email in rest[: query.limit])
        return MailSlice(
            emails=page,
            scanned_to=MailPosition(milliseconds(page[-1]), page[-1].id) if page else None,
            exhausted=len(rest) <= query.limit,
            total=len(emails),
            total_exact=True,
        )

    async def first_page(self, query, *, projection):
        return await self.search(query, after=None, projection=projection)

    async def get(self, message_id, *, projection):
        self._called("get", message_id, projection)
        return pick(self._one(message_id), projection | {"received_at"})

    async def thread(self, thread_id, *, projection):
        self._called("thread", thread_id, projection)
        return self._thread(thread_id, projection)

    def _thread(self, thread_id, projection):
        emails = [email for email in self.emails if email.thread_id == thread_id]
        if not emails:
            raise Missing
        emails.sort(key=milliseconds)
        return mail_records.Thread(
            id=thread_id,
            provider=emails[0].provider,
            messages=tuple(pick(email, projection | {"received_at"}) for email in emails),
        )

    async def get_many(self, message_ids, *, projection):
        self._called("get_many", tuple(message_ids), projection)
        emails = [email for email in self.emails if email.id in message_ids]
        return {email.id: pick(email, projection | {"received_at"}) for email in emails}

    async def threads(self, thread_ids, *, projection):
        self._called("threads", tuple(thread_ids), projection)
        stored = {email.thread_id for email in self.emails}
        return {name: self._thread(name, projection) for name in thread_ids if name in stored}

    async def send(self, draft):
        self._called("send", draft)
        return self.sent

    async def reply(self, message_id, reply):
        self._called("reply", message_id, reply)
        self._one(message_id)
        return self.sent

    async def forward(self, message_id, forward):
        self._called("forward", message_id, forward)
        self._one(message_id)
        return self.sent

    async def trash(self, message_id):
        self._called("trash", message_id)
        self._one(message_id)

    async def change(self, message_id, change):
        self._called("change", message_id, change)
        email = self._one(message_id)
        return mail_records.SentMessage(email_id=email.id, thread_id=email.thread_id)

    async def probe(self):
        self._called("probe")

    def _called(self, *call):
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure

    def _one(self, message_id):
        for email in self.emails:
            if email.id == message_id:
                return email
        raise Missing

    def _matches(self, email, query):
        if query.subject is not None:
            return query.subject.casefold() in (email.subject or "").casefold()
        if query.text is not None:
            looked = [str(getattr(email, name) or "") for name in query.text_fields]
            return any(query.text.casefold() in text.casefold() for text in looked)
        return True


def milliseconds(email):
    return int(email.received_at.timestamp() * 1000)


STRUCTURAL = {"id", "provider", "thread_id", "is_read", "has_attachments"}


def pick(email, projection):
    """Return the record as a connector does: without the attributes that were not wanted."""
    attributes = {
        name: value
        for name, value in msgspec.structs.asdict(email).items()
        if name in projection | STRUCTURAL
    }
    return mail_records.Email(**attributes)


class PlainSealer:
    """Seals without secrecy, so that a test can see that the binding is checked."""

    def seal(self, payload: bytes, *, context: bytes) -> str:
        return base64.urlsafe_b64encode(msgspec.msgpack.encode((context, payload))).decode()

    def unseal(self, token: str, *, context: bytes) -> bytes:
        bound, payload = msgspec.msgpack.decode(
            base64.urlsafe_b64decode(token), type=tuple[bytes, bytes]
        )
        if bound != context:
            raise ValueError("bound elsewhere")
        return payload

    def sign(self, payload: bytes, *, context: bytes) -> str:
        return self.seal(payload, context=context)

    def verify(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        return signature == self.sign(payload, context=context)


@dataclass
class World:
    """One caller with its mailboxes; change it, then ask."""

    settings: dict = field(default_factory=lambda: dict(EVERYTHING))
    connections: list[ConnectionInfo] = field(default_factory=list)
    mailboxes: dict[int, RecordMailbox] = field(default_factory=dict)
    token_id: int = 7
    now: datetime = NOW
    sealer: Sealer = field(default_factory=PlainSealer)
    costs: list[Mapping[str, int]] = field(default_factory=list)

    def caller(self) -> Caller:
        settings = validate(self.settings)
        return Caller(
            token_id=self.token_id,
            token_name="robot",
            key_id="abcdefgh",
            expires_at=None,
            policy_rev=1,
            operator_id="op",
            grant=Grant.read(settings),
            settings=settings,
            connections=tuple(self.connections),
        )

    def context(self, **changes) -> Context:
        caller = self.caller()
        usable = [
            (connection, self.mailboxes[connection.id])
            for connection in self.connections
            if connection.kind == "email"
            and connection.status == "active"
            and not caller.excludes(connection)
        ]
        return Context(
            caller=caller,
            request_id="req-1",
            sealer=self.sealer,
            mail=MergedMailbox(usable),
            calendars=MergedCalendars((), MemoryIds()),
            narrow_mail=narrow_mail,
            now=lambda: self.now,
            **changes,
        )


@pytest.fixture(scope="session")
def graph():
    return Graph(build())


def make_email(name, minutes, **more):
    """A full message, *minutes* before noon."""
    moment = NOW - timedelta(minutes=minutes)
    attributes = {
        "id": name,
        "provider": "PROVIDER_A",
        "thread_id": f"talk-{name}",
        "subject": f"Subject {name}",
        "from_": mail_records.Participant(email="ann@example.com", name="Ann"),
        "to": (mail_records.Participant(email="bob@example.com", name="Bob"),),
        "cc": (mail_records.Participant(email="cy@example.com"),),
        "bcc": (),
        "body_preview": f"Preview {name}",
        "body": f"<p>Body {name}</p>",
        "body_type": "html",
        "sent_at": moment - timedelta(seconds=5),
        "received_at": moment,
        "is_read": False,
        "has_attachments": True,
        "attachments": (
            mail_records.Attachment(
                id="att", name="plan.pdf", content_type="application/pdf", size=2**40
            ),
        ),
        "labels": ("Home",),
        "importance": "normal",
    }
    return mail_records.Email(**(attributes | more))


@pytest.fixture
def email():
    return make_email


@pytest.fixture
def mailbox():
    return RecordMailbox


@pytest.fixture
def world():
    made = World()
    made.connections = [
        ConnectionInfo(
            id=1,
            resource_id=1,
            kind="email",
            provider="PROVIDER_A",
            account_email="me@a.example",
            can_write=True,
        ),
        ConnectionInfo(
            id=2,
            resource_id=1,
            kind="email",
            provider="PROVIDER_B",
            account_email="me@b.example",
            can_write=True,
        ),
    ]
    made.mailboxes = {
        1: RecordMailbox([make_email("a1", 1), make_email("a2", 3)]),
        2: RecordMailbox(
            [make_email("b1", 2, provider="PROVIDER_B")], sent=mail_records.SentMessage()
        ),
    }
    return made


@pytest.fixture
def ask(graph, world):
    """Run a document through POST /graphql; returns status and decoded body."""

    async def run(query, variables=None, *, of=None, **changes):
        target = of or world

        async def admit(costs):
            target.costs.append(dict(costs))
            return target.context(**changes)

        body = json.dumps({"query": query, "variables": variables}).encode()
        reply = await respond(graph, body, admit=admit, request_id="req-1")
        return reply.status, json.loads(reply.body)

    return run
