"""
One authenticated IMAP connection.

Commands run one after another: whoever uses a session has it alone (`pool`). A connection whose
command was cancelled or timed out is closed, because the answer would still come.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from itertools import count, repeat
from typing import Final, Self, TypeVar

from providers.catalogue import causes
from providers.failures import Broken, ProviderFailure, TimedOut, Unreachable
from providers.imap import refusals
from providers.imap.accounts import Account, Notify, ignore
from providers.imap.command_texts import astring, name_of
from providers.imap.connecting import NO_STARTTLS, has_buffered, reason_of
from providers.imap.endpoints import Security, tls_context
from providers.imap.parsing import Pieces, Row
from providers.imap.replies import Disconnected, Literal, MailboxRoot, OpenFolder, Rejected, Reply
from providers.imap.response_reader import MAX_LINE, ResponseReader
from providers.imap.sasl import token_login
from providers.turns import in_turns

__all__ = [
    "Account",
    "Disconnected",
    "Literal",
    "OpenFolder",
    "Rejected",
    "Reply",
    "Session",
    "astring",
]

S = TypeVar("S", bound="Session")
CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 15.0
MAX_RESPONSE = 16 * 1024 * 1024  # bytes of all that one command answers
MAX_RESPONSES = 100_000  # to one command

_CAPABILITY = re.compile(
    rb"\A(?:(?:\S+ )?(?:OK|PREAUTH) \[|\* )CAPABILITY ([^\]\r\n]{1,10000})", re.IGNORECASE
)

_STRAY: Final = frozenset({b"", b")"})  # lines


class Session:
    """
    An authenticated connection.

    Attributes:
        capabilities: In capitals, as the server announced them after the login.
        selected: The folder that is open.
        root: The mailbox that it works in; None: not looked up yet.
        enabled: Extensions that the server has switched on (RFC 5161); None: not asked yet.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, notify: Notify = ignore
    ) -> None:
        """Take a connection; `connect` makes one."""
        self._notify = notify
        self._reader = reader
        self._responses = ResponseReader(reader)
        self._writer = writer
        self._tags = (f"{secrets.token_hex(4)}{number}".encode() for number in count(1))
        self._is_open = True
        self._farewell: bytes | None = None
        self._has_told_name = False
        self.capabilities: frozenset[str] = frozenset()
        self.selected: OpenFolder | None = None
        self.root: MailboxRoot | None = None
        self.enabled: frozenset[str] | None = None

    @classmethod
    async def connect(cls, account: Account) -> Self:
        """
        Connect, secure the connection and log in.

        Raises:
            Unreachable: The server cannot be reached, or offers no encryption that we accept.
            TimedOut: It did not answer in time.
            NeedsReauth: It refuses name and password.
            Throttled: It refuses for now, such as for too many connections.
            Broken: It does not understand the login, or reports a fault of its own.
        """
        session = await cls.open(account)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await session.log_in(account)
        except BaseException as failure:
            session.close()
            if isinstance(failure, TimeoutError):
                raise TimedOut(sent=False) from failure
            raise
        return session

    @classmethod
    async def open(cls, account: Account) -> Self:
        """
        Connect and secure the connection, without a login.

        Raises:
            Unreachable, TimedOut: As `connect`.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await _open(cls, account)
        except TimeoutError as failure:
            raise TimedOut(sent=False) from failure
        except (OSError, asyncio.IncompleteReadError, ValueError) as failure:
            raise Unreachable(
                reason_of(failure), sent=False, cause=causes.of_error(failure)
            ) from failure

    @property
    def is_open(self) -> bool:
        """Whether the connection can still be used, as far as is known."""
        return self._is_open and not self._reader.at_eof()

    async def command(
        self,
        *parts: str | bytes | Literal,
        answers: Sequence[str] = (),
        seconds: float = COMMAND_SECONDS,
        max_row: int = MAX_LINE,
    ) -> Reply:
        """
        Run one command and return its answer.

        Args:
            parts: Text as it is written, ASCII; bytes become literals. They are joined by blanks.
            answers: Lines that answer the server's requests to go on, in order.
            seconds: Until the answer must have come.
            max_row: Bytes outside of literals that are kept of each FETCH response: the rest is
                read and dropped.

        Raises:
            Rejected: The server answered NO or BAD.
            Disconnected: It ended the connection, before or during the command.
            TimedOut: It did not answer in time.
            Broken: Its answer violates the protocol or is too large.
        """
        name = name_of(parts[0])
        try:
            return await self._timed(name, self._run(parts, answers, max_row), seconds)
        except Rejected as rejected:
            if self._has_told_name or not refusals.asks_for_name(rejected):
                raise
        self._has_told_name = True
        with suppress(Rejected):
            await self._timed("ID", self._run((_OWN_NAME,)), seconds)
        return await self._timed(name, self._run(parts, answers, max_row), seconds)

    async def _timed(self, name: str, run: Coroutine[None, None, Reply], seconds: float) -> Reply:
        if not self.is_open:
            run.close()
            self.close()
            raise Disconnected(sent=False)
        began, outcome = time.perf_counter(), "broken"
        try:
            async with asyncio.timeout(seconds):
                reply = await run
            outcome = "200"
        except TimeoutError as failure:
            self.close()
            outcome = "late"
            raise TimedOut from failure
        except (OSError, asyncio.IncompleteReadError) as failure:
            self.close()
            raise self._end() from failure
        except (asyncio.LimitOverrunError, ValueError) as failure:
            self.close()
            raise Broken from failure
        except asyncio.CancelledError:
            self.close()
            outcome = "cancelled"
            raise
        except ProviderFailure:
            outcome = "400"
            raise
        finally:
            self._notify(name, outcome, began)
        return reply

    async def fetch(self, uids: str, items: str, *, max_row: int | None = None) -> dict[int, Row]:
        """
        Return the items of messages by UID; messages that are gone are left out.

        Args:
            uids: A sequence set.
            items: As FETCH takes them.
            max_row: Bytes outside of literals that are kept of each message; the UIDs of rows that
                were cut before it are 0. None: no message may have more than `MAX_LINE`.

        Raises:
            Broken: As `command`; also when a message has more and none may.
        """
        command = f"UID FETCH {uids} ({items})"
        reply = await self.command(command, max_row=MAX_LINE if max_row is None else max_row)
        rows = await reply.parsed(Reply.rows)
        if max_row is None and any(row.is_cut for row in rows.values()):
            raise Broken
        return rows

    def close(self) -> None:
        """End the connection without a word."""
        self._is_open = False
        self._writer.transport.abort()  # a goodbye would wait for the server

    async def _run(
        self,
        parts: Sequence[str | bytes | Literal],
        answers: Sequence[str] = (),
        max_row: int = MAX_LINE,
    ) -> Reply:
        self._responses.begin()
        tag = next(self._tags)
        untagged: list[Pieces] = []
        line = tag
        for part in parts:
            if isinstance(part, str):
                line += b" " + part.encode("ascii")
                continue
            at_once = "LITERAL+" in self.capabilities
            size = len(part) if isinstance(part, bytes) else part.size
            self._writer.write(line + (b" {%d+}\r\n" if at_once else b" {%d}\r\n") % size)
            if not at_once:
                status = await self._until(tag, untagged, continuation=True)
                if status is not None:  # refused: the literal must not be sent
                    return self._judge(status, untagged, parts)
            if isinstance(part, bytes):
                line = part
                continue
            async for chunk in part.chunks():
                self._writer.write(chunk)
                await self._writer.drain()
            line = b""
        self._writer.write(line + b"\r\n")
        for answer in answers:
            status = await self._until(tag, untagged, continuation=True)
            if status is not None:
                return self._judge(status, untagged, parts)
            self._writer.write(answer.encode("ascii") + b"\r\n")
        status = await self._until(tag, untagged, max_row=max_row)
        return self._judge(status or b"", untagged, parts)

    async def _until(
        self,
        tag: bytes,
        untagged: list[Pieces],
        *,
        continuation: bool = False,
        max_row: int = MAX_LINE,
    ) -> bytes | None:
        """Read responses to the tagged line; None for a request to go on, if it may come."""
        size = 0
        async for _ in in_turns(repeat(None)):  # what has arrived is read without a pause
            pieces = await self._responses.read(max_row)
            head = pieces[0]
            size += sum(map(len, pieces), len(b"\r\n"))
            if size > MAX_RESPONSE or len(untagged) > MAX_RESPONSES:
                raise ValueError("the response is too large")
            if head[:1] == b"+" and continuation:
                return None
            if pieces[0] in _STRAY and len(pieces) == 1:  # written by some servers behind rows
                continue
            if head[:2] == b"* ":
                self._note(head)
                untagged.append(pieces)
            elif head[: len(tag) + 1] == tag + b" ":
                self._note(head)
                return head[len(tag) + 1 :]
            else:
                raise ValueError("a response belongs to no command")
        return None

    def _note(self, head: bytes) -> None:
        announced = _CAPABILITY.search(head)
        if announced:
            words = announced[1].decode("ascii", "replace").upper().split()
            self.capabilities = frozenset(words)
        if head[2:6].upper() == b"BYE ":
            self._is_open = False
            self._farewell = head

    def _end(self) -> ProviderFailure:
        """Return the failure of a connection that the server has ended."""
        throttle = None if self._farewell is None else refusals.farewell(self._farewell)
        return throttle or Disconnected(sent=True)

    def _judge(
        self, status: bytes, untagged: Sequence[Pieces], parts: Sequence[str | bytes | Literal]
    ) -> Reply:
        if status.partition(b" ")[0].upper() == b"OK":
            return Reply(status, tuple(untagged))
        raise refusals.refusal(status, name_of(parts[0]))

    async def greet(self) -> None:
        """Read the server's greeting."""
        pieces = await self._responses.read()
        self._note(pieces[0])
        if pieces[0][:5].upper() not in (b"* OK ", b"* PRE"):
            if pieces[0][:6].upper() == b"* BYE ":
                throttle = refusals.farewell(pieces[0])
                raise throttle or ConnectionError("the server takes no connection now")
            raise ValueError("no greeting")

    async def secure(self, host: str) -> None:
        """
        Go on under TLS.

        Raises:
            Unreachable: The server does not offer STARTTLS.
            OSError: TLS fails.
            ValueError: Somebody on the way wrote responses behind that to STARTTLS; untagged ones,
                such as capabilities, would be taken for the server's.
        """
        if not self.capabilities:
            await self._run(("CAPABILITY",))
        if "STARTTLS" not in self.capabilities:
            raise Unreachable(NO_STARTTLS, sent=False)
        await self._run(("STARTTLS",))
        if has_buffered(self._reader):
            raise ValueError("somebody answers in plain text what was not asked yet")
        await self._writer.start_tls(tls_context(), server_hostname=host)
        self.capabilities = frozenset()  # those of before are not to be trusted

    async def log_in(self, account: Account) -> None:
        """Log in, and learn what the server can do then; raises as `connect`."""
        if not self.capabilities:
            await self.command("CAPABILITY")
        try:
            if account.has_token:
                reply = await self._log_in_by_token(account)
            else:
                login = ("LOGIN", astring(account.username), astring(account.password))
                reply = await self.command(*login)
        except Rejected as failure:
            raise refusals.refused_login(failure, by_token=account.has_token) from failure
        if _CAPABILITY.search(reply.status) is None:
            await self.command("CAPABILITY")

    async def _log_in_by_token(self, account: Account) -> Reply:
        login = token_login(account, {word.removeprefix("AUTH=") for word in self.capabilities})
        if login is None:
            raise Unreachable(NO_TOKEN_LOGIN, sent=False)
        words, answers = f"AUTHENTICATE {login.mechanism}", [login.response, login.after_error]
        if "SASL-IR" in self.capabilities:
            return await self.command(f"{words} {login.response}", answers=answers[1:])
        return await self.command(words, answers=answers)


_OWN_NAME: Final = 'ID ("name" "access-gateway")'  # RFC 2971
NO_TOKEN_LOGIN = "The mail server offers no login by access token."  # noqa: S105 - a sentence


async def _open(kind: type[S], account: Account) -> S:
    endpoint = account.endpoint
    tls = tls_context() if endpoint.security is Security.TLS else None
    reader, writer = await asyncio.open_connection(
        endpoint.connect_host,
        endpoint.port,
        ssl=tls,
        server_hostname=endpoint.host if tls else None,
        limit=MAX_LINE,
    )
    session = kind(reader, writer, account.notify)
    try:
        await session.greet()
        if endpoint.security is Security.STARTTLS:
            await session.secure(endpoint.host)
    except BaseException:
        session.close()
        raise
    return session
