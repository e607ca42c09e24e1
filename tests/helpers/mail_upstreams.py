"""A mailbox in the sandbox that a test fills with raw messages, and the connector open on it."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from inspect import isawaitable

from msgspec.structs import replace

from providers import registry
from providers.http.client import Origins
from providers.http.resilience import SystemClock
from providers.mail import scanning
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPort, MailQuery
from sandbox import app as sandbox
from sandbox import faults
from sandbox.mail.ids import SHARED_B
from sandbox.provider_b.mailbox_rights import grant

BASE = "http://upstream.example"
ACCOUNTS = {"PROVIDER_A": "me@provider-a.example", "PROVIDER_B": "me@provider-b.example"}
MAILBOXES = {"PROVIDER_A": "provider-a", "PROVIDER_B": "provider-b"}
UPSTREAMS = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}
SHARED_SCOPES = ("Mail.ReadWrite.Shared", "Mail.Send.Shared")
SCOPES = {
    "PROVIDER_A": ["https://mail.google.com/"],
    "PROVIDER_B": ["Mail.ReadWrite", "Mail.Send", "User.Read"],
}
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ALL = frozenset(
    {
        "id",
        "thread_id",
        "subject",
        "from_",
        "to",
        "cc",
        "bcc",
        "body_preview",
        "body",
        "body_type",
        "sent_at",
        "received_at",
        "is_read",
        "has_attachments",
        "attachments",
        "labels",
        "importance",
    }
)
LISTED = ALL - {"body", "body_type"}
TEXT = frozenset({"subject", "body_preview", "body", "from_", "to", "cc"})


@dataclass
class Held:
    """Credentials that never change."""

    text: str
    scheme: str = "Bearer"

    async def token(self, *, rejected=None):
        return self.text


class SkippingClock(SystemClock):
    """The system's clock, except that sleeping takes no time; *sleeps* are its seconds."""

    def __init__(self):
        self.sleeps = []

    def monotonic(self):
        return super().monotonic() + sum(self.sleeps)

    async def sleep(self, seconds):
        self.sleeps.append(seconds)


class SearchedMailbox:
    """A mailbox whose *port* is searched page by page."""

    port: MailPort

    async def subjects(self, *, projection=frozenset({"subject"}), **query):
        """The subjects a search finds, in order, over all pages."""
        emails = await self.every(MailQuery(**query), projection=projection)
        return [email.subject for email in emails]

    def query(self, **members):
        """A query of a page of fifty."""
        return MailQuery(limit=50, **members)

    async def every(self, query, *, projection, between=None):
        """All that a search finds, read page by page; *between* runs after each page."""
        emails, after, pages = [], None, 0
        while True:
            answer = await self.port.search(query, after=after, projection=projection)
            assert len(answer.emails) <= query.limit
            emails += answer.emails
            if answer.exhausted:
                return emails
            pages += 1
            assert pages < 500
            moved = answer.scanned_to or scanning.position(answer.emails[-1])
            assert after is None or moved.rank > after.rank
            after = moved
            if between is not None and isawaitable(changed := between(pages)):
                await changed


@dataclass
class Account(SearchedMailbox):
    """
    One mailbox.

    Attributes:
        port: The connector under test.
        sandbox: The upstream it speaks to.
    """

    provider: str
    sandbox: sandbox.Sandbox
    port: MailPort
    info: ConnectionInfo
    clock: SkippingClock
    known: dict[str, str] = field(default_factory=dict)

    @property
    def address(self):
        return self.info.account_email

    @property
    def mailbox(self):
        return MAILBOXES[self.provider] if self.info.shared_on is None else SHARED_B

    @property
    def upstream(self):
        return self.sandbox.upstreams[UPSTREAMS[self.provider]]

    @property
    def calls(self):
        """Return the calls to upstream, each inner call of a batch on its own."""
        return [call for call in self.upstream.calls if not call["path"].endswith("batch/gmail/v1")]

    @property
    def batches(self):
        """Return the inner calls of each batch, in their order."""
        batches = {}
        for call in self.upstream.calls:
            if call["batch"] is not None:
                batches.setdefault(call["batch"], []).append(call)
        return list(batches.values())

    @property
    def batches_of_fifty(self):
        """Batches for the details of a page of fifty, of which one message more is read."""
        return 3

    def asked(self, name):
        """Every value of a query parameter over all calls."""
        return [value for call in self.upstream.calls for value in call["query"].get(name, [])]

    def forget_calls(self):
        self.upstream.calls.clear()

    def fault(self, **projection):
        self.upstream.faults.append(faults.parse_fault(projection))

    def add(self, subject, *, at=0, folder="inbox", labels=(), read=False, thread=None, **made):
        """Add a message received *at* seconds after noon; return its id."""
        text = raw(subject, **made)
        stored = self.sandbox.state.mails.add(
            self.mailbox,
            text,
            folder=folder,
            labels=labels,
            is_read=read,
            received_ms=int(NOON.timestamp() * 1000 + at * 1000),
            thread_id=thread,
        )
        for label in labels:
            self.sandbox.state.mails.add_label(self.mailbox, label)
        self.known[stored.immutable_id] = subject
        return stored.immutable_id

    def stored(self, subject=None, *, folder=None):
        """The raw messages that upstream holds, newest first."""
        return [
            mail
            for mail in self.sandbox.state.mails.all(self.mailbox)
            if (folder is None or mail.folder == folder)
            and (subject is None or f"Subject: {subject}".encode() in mail.raw)
        ]


def raw(
    subject,
    *,
    author="Ann Author <ann@north.example>",
    to="me@example.com",
    cc=None,
    body="Words.",
    html=None,
    files=(),
    inline=(),
    headers=(),
    sent=NOON,
    message_id=None,
):
    """Write a message; *files* and *inline* are (name, type, bytes)."""
    message = EmailMessage()
    message["From"] = author
    message["To"] = to
    if cc is not None:
        message["Cc"] = cc
    message["Subject"] = subject
    message["Date"] = format_datetime(sent)
    message["Message-ID"] = message_id or f"<{abs(hash((subject, author)))}@north.example>"
    for name, value in headers:
        message[name] = value
    message.set_content(body)
    if html is not None:
        message.add_alternative(html, subtype="html")
    for name, kind, content in files:
        main, _, sub = kind.partition("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    for name, kind, content in inline:
        main, _, sub = kind.partition("/")
        message.add_attachment(
            content,
            maintype=main,
            subtype=sub,
            filename=name,
            disposition="inline",
            cid=f"<{name}>",
        )
    return message.as_bytes()


@asynccontextmanager
async def opened(provider, *, rights=None):
    """
    Open an empty mailbox of *provider* and its connector.

    *rights*: of a person in a shared mailbox, which is opened with them; None: the person's own.
    """
    async with opened_together(provider, rights=rights) as (account,):
        yield account


def _shared(app, info, rights):
    """Give the person of *info* rights in the shared mailbox; return what it is opened with."""
    grant(app.state.database, SHARED_B, info.account_email, rights)
    team = app.state.mails.account(SHARED_B).email
    return replace(info, account_email=team, shared_on=9, granted_scopes=SHARED_SCOPES)


@asynccontextmanager
async def opened_together(*providers, allowance=None, rights=None):
    """
    Open empty mailboxes of several providers in one sandbox; ids count from 1.

    *allowance*: quota units of provider A per minute; None: tests may read more than that.
    """
    app = sandbox.create(None, public_base=BASE)
    clock = SkippingClock()
    app.upstreams["providerA"].quota.allowance = allowance
    origins = Origins(apps={BASE: app}, clock=clock)
    upstreams = {}
    opener = registry.PortRegistry(lambda info: upstreams[info.id])
    accounts = []
    for number, provider in enumerate(providers, start=1):
        token = app.state.tokens.issue(UPSTREAMS[provider], ACCOUNTS[provider], SCOPES[provider])
        info = ConnectionInfo(
            id=number,
            resource_id=1,
            kind="email",
            provider=provider,
            account_email=ACCOUNTS[provider],
            can_write=True,
            base_url=f"{BASE}/{MAILBOXES[provider]}",
        )
        if rights is not None:
            info = _shared(app, info, rights)
            scopes = [*SHARED_SCOPES, "User.Read.All"]
            token = app.state.tokens.issue(UPSTREAMS[provider], ACCOUNTS[provider], scopes)
        upstreams[number] = registry.open_upstream(origins, info, Held(token))
        port = opener.open(info)
        accounts.append(Account(provider, app, port, info, clock))
    try:
        yield accounts
    finally:
        await origins.aclose()
