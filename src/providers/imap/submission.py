"""
One submission of a message to a mail server (RFC 6409): SMTP over TLS, with a login.

A server delivers a message when it has read its last line, a single dot, whether or not its reply
to that line arrives. So nothing was sent before that line is written, and only then is the outcome
of a lost reply unknown.
"""

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from providers.failures import (
    Broken,
    NotAccepted,
    ProviderFailure,
    Refused,
    SendingRefused,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.imap import refusals
from providers.imap.accounts import Account
from providers.imap.connecting import NO_STARTTLS, has_buffered, of_submission, reason_of
from providers.imap.endpoints import Security, tls_context
from providers.imap.refusals import LATER_SECONDS
from providers.imap.sasl import token_login
from providers.imap.submission_replies import (
    TOO_LARGE,
    RecipientsRefused,
    Reply,
    closed,
    refusal,
    refused_recipients,
)

__all__ = ["Envelope", "RecipientsRefused", "Submission"]

T = TypeVar("T")

CONNECT_SECONDS = 10.0
_MAX_LINE = 64 * 1024  # bytes
_MAX_LINES = 200  # of one reply
LOGIN_REFUSED = "The submission server refused the user name or the password."
TOKEN_REFUSED = "The submission server refused the access token."  # noqa: S105 - a sentence
NO_LOGIN = "The submission server offers no login by password."
NO_TOKEN_LOGIN = "The submission server offers no login by access token."  # noqa: S105 - a sentence
_CLOSING = 421
_NO_MECHANISM: Final = frozenset({500, 501, 502, 503, 504, 534})  # RFC 4954, 6
_OLD_AUTH = re.compile(r"\A *AUTH=", re.IGNORECASE)
_REPLY = re.compile(rb"([2-5][0-9]{2})([ -]?)([^\r\n]*)")
_ENHANCED = re.compile(rb"\A[245]\.[0-9]{1,3}\.[0-9]{1,3}(?= |\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """
    Sender and recipients, as ASCII addresses.

    Attributes:
        copy_to: A further recipient, without whom the message is sent if the server refuses it; ""
            for none.
        size: Bytes of the message.
        is_8bit: Whether it has bytes beyond ASCII.
    """

    sender: str
    recipients: Sequence[str]
    copy_to: str = ""
    size: int
    is_8bit: bool = False


class Submission:
    """A connection to a submission server after the login; for one message."""

    def __init__(self, account: Account, ends: float) -> None:
        """*ends* is the deadline of everything, on the `time.monotonic` scale."""
        self._account = account
        self._ends = ends
        self._extensions: dict[str, str] = {}
        self._is_handed_over = False
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    @classmethod
    async def connect(cls, account: Account, *, ends: float) -> "Submission":
        """
        Connect, secure the connection and log in.

        Raises:
            Unreachable: The server cannot be reached, or offers no encryption or no login that we
                accept.
            TimedOut: It did not answer in time.
            SendingRefused: It refuses name and password.
            Throttled: It is busy.
        """
        return await cls.open(account, ends=ends, login=True)

    @classmethod
    async def open(cls, account: Account, *, ends: float, login: bool = False) -> "Submission":
        """
        Connect and secure the connection; *login*: log in too.

        Raises:
            Unreachable, TimedOut, Throttled: As `connect`.
        """
        submission = cls(account, min(ends, time.monotonic() + CONNECT_SECONDS))
        await submission._guarded("CONNECT", lambda: submission._open(login=login))
        submission._ends = ends
        return submission

    @property
    def extensions(self) -> Mapping[str, str]:
        """Extensions that the server announces, in capitals, with their parameters."""
        return self._extensions

    async def offer(self, envelope: Envelope) -> bool:
        """
        Tell the server sender and recipients; return whether `copy_to` is accepted.

        Raises:
            RecipientsRefused: It does not accept a recipient.
            Refused: It does not accept the sender, or not a message of this size (413).
            Throttled: It refuses for now.
            ProviderFailure: As `connect`.
        """
        return await self._guarded("MAIL", lambda: self._offer(envelope))

    async def hand_over(
        self, content: AsyncIterator[bytes], before_end: Callable[[], Awaitable[None]]
    ) -> None:
        """
        Send the message, with lines that end with CRLF.

        Args:
            content: The message from its start.
            before_end: Runs when all but the last line is sent. When it raises, nothing was sent.

        Raises:
            Refused, Throttled, OutOfSpace: The server does not accept the message.
            Unreachable, TimedOut, Broken: As `connect`; with *sent*, or of a Broken that did not
                fail, the message may have been sent.
        """
        last_line = await self._guarded("DATA", lambda: self._send_content(content))
        try:
            await before_end()
        except BaseException:
            self.close()
            raise
        await self._guarded("DATA", lambda: self._finish(last_line))

    def close(self) -> None:
        """End the connection; before the message was handed over, it is not sent."""
        if self._is_handed_over and not self._writer.is_closing():
            self._writer.write(b"QUIT\r\n")
            self._writer.close()
        elif hasattr(self, "_writer"):
            self._writer.transport.abort()

    async def _guarded(self, method: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run *work* within the deadline, and translate what goes wrong."""
        began = time.perf_counter()
        outcome = "cancelled"
        try:
            async with asyncio.timeout(max(0.0, self._ends - time.monotonic())):
                result = await work()
        except BaseException as failure:
            sent = self._is_handed_over
            self._is_handed_over = False
            self.close()
            if isinstance(failure, TimeoutError):
                outcome = "late"
                raise TimedOut(sent=sent) from failure
            if isinstance(failure, OSError | asyncio.IncompleteReadError):
                outcome = "broken"
                reason = None if sent else of_submission(reason_of(failure))
                raise Unreachable(reason, sent=sent) from failure
            if isinstance(failure, asyncio.LimitOverrunError | ValueError):
                outcome = "broken"
                raise Broken from failure
            if isinstance(failure, ProviderFailure):
                outcome = "554"
            raise
        else:
            outcome = "250"
            return result
        finally:
            self._account.notify(method, outcome, began)

    # -- connecting

    async def _open(self, *, login: bool) -> None:
        endpoint = self._account.endpoint
        tls = tls_context() if endpoint.security is Security.TLS else None
        self._reader, self._writer = await asyncio.open_connection(
            endpoint.connect_host,
            endpoint.port,
            ssl=tls,
            server_hostname=endpoint.host if tls else None,
            limit=_MAX_LINE,
        )
        greeting = await self._reply()
        if greeting.code != 220:
            raise closed(greeting)
        await self._greet()
        if endpoint.security is Security.STARTTLS:
            await self._secure(endpoint.host)
        if login:
            await self._log_in()

    async def _greet(self) -> None:
        host = self._writer.get_extra_info("sockname")[0]
        name = f"[IPv6:{host}]" if ":" in host else f"[{host}]"
        reply = await self._command(f"EHLO {name}")
        if not reply.is_done:
            raise closed(reply)
        # "AUTH=PLAIN LOGIN" is the form of before RFC 2554, which servers still write.
        lines = [_OLD_AUTH.sub("AUTH ", line, count=1) for line in reply.lines[1:]]
        self._extensions = {}
        for word, _, rest in (line.strip().partition(" ") for line in lines):
            known = self._extensions.get(word.upper(), "")
            self._extensions[word.upper()] = f"{known} {rest}".strip()

    async def _secure(self, host: str) -> None:
        """Go on under TLS."""
        if "STARTTLS" not in self._extensions:
            raise Unreachable(of_submission(NO_STARTTLS), sent=False)
        reply = await self._command("STARTTLS")
        if reply.code != 220:
            raise closed(reply)
        if has_buffered(self._reader):
            raise ValueError("somebody answers in plain text what was not asked yet")
        await self._writer.start_tls(tls_context(), server_hostname=host)
        await self._greet()

    async def _log_in(self) -> None:
        """
        Log in by one mechanism: a server counts every attempt that fails.

        It is another one only where the server does not know the first after all.
        """
        mechanisms = self._extensions.get("AUTH", "").upper().split()
        if self._account.has_token:
            reply = await self._log_in_by_token(mechanisms)
        else:
            steps = {"PLAIN": self._log_in_plainly, "LOGIN": self._log_in_by_questions}
            offered = [step for name, step in steps.items() if name in mechanisms]
            if not offered:
                raise Unreachable(NO_LOGIN, sent=False)
            reply = await offered[0]()
            if reply.code in _NO_MECHANISM and len(offered) > 1:
                reply = await offered[1]()
        if reply.code == 235:
            return
        wait = refusals.wait_of(" ".join(reply.lines))
        if reply.code < 500 or wait is not None:
            raise Throttled(wait or LATER_SECONDS)
        if reply.code in _NO_MECHANISM - {534}:
            raise Unreachable(NO_LOGIN, sent=False)
        raise SendingRefused(TOKEN_REFUSED if self._account.has_token else LOGIN_REFUSED)

    async def _log_in_plainly(self) -> Reply:
        secret = _base64(f"\0{self._account.username}\0{self._account.password}")
        reply = await self._command(f"AUTH PLAIN {secret}")
        if reply.code == 334:  # a server that takes no initial response
            reply = await self._command(secret)
        return reply

    async def _log_in_by_questions(self) -> Reply:
        reply = await self._command("AUTH LOGIN")
        for secret in (self._account.username, self._account.password):
            if reply.code == 334:
                reply = await self._command(_base64(secret))
        return reply

    async def _log_in_by_token(self, mechanisms: Sequence[str]) -> Reply:
        login = token_login(self._account, mechanisms)
        if login is None:
            raise Unreachable(NO_TOKEN_LOGIN, sent=False)
        reply = await self._command(f"AUTH {login.mechanism} {login.response}")
        if reply.code == 334:  # an error, which the refusal follows
            reply = await self._command(login.after_error)
        return reply

    # -- a message

    async def _offer(self, envelope: Envelope) -> bool:
        limit = self._extensions.get("SIZE", "")
        if limit.isascii() and limit.isdecimal() and 0 < int(limit) < envelope.size:
            raise Refused(TOO_LARGE, status=413)
        options = f" SIZE={envelope.size}" if "SIZE" in self._extensions else ""
        if envelope.is_8bit:
            if "8BITMIME" not in self._extensions:
                raise NotAccepted(
                    "The mail server does not accept the characters of an attachment."
                )
            options += " BODY=8BITMIME"
        recipients = [*envelope.recipients, *filter(None, [envelope.copy_to])]
        commands = [f"MAIL FROM:<{envelope.sender}>{options}"]
        commands += [f"RCPT TO:<{recipient}>" for recipient in recipients]
        first, *replies = await self._commands(commands)
        if not first.is_done:
            raise refusal(first, "The mail server does not accept the sender.")
        required = replies[: len(envelope.recipients)]
        refused = {index: reply for index, reply in enumerate(required) if not reply.is_done}
        if refused:
            raise refused_recipients(refused, accepted=len(required) - len(refused))
        return bool(envelope.copy_to) and replies[-1].is_done

    async def _send_content(self, content: AsyncIterator[bytes]) -> bytes:
        """Send all but the last line; return that line."""
        reply = await self._command("DATA")
        if reply.code != 354:
            raise refusal(reply, "The mail server does not accept the message.")
        end = b"\r\n"
        async for chunk in content:
            # A dot at the beginning of a line is doubled; `end` is that of the text before.
            stuffed = (end + chunk).replace(b"\r\n.", b"\r\n..")
            self._writer.write(stuffed[len(end) :])
            end = (end + chunk)[-2:]
            await self._writer.drain()
        return b".\r\n" if end == b"\r\n" else b"\r\n.\r\n"

    async def _finish(self, last_line: bytes) -> None:
        self._is_handed_over = True
        self._writer.write(last_line)
        reply = await self._reply()
        if not reply.is_done:
            self._is_handed_over = False
            raise refusal(reply, "The mail server does not accept the message.")

    # -- commands

    async def _commands(self, lines: Sequence[str]) -> list[Reply]:
        if "PIPELINING" not in self._extensions:
            return [await self._command(line) for line in lines]
        self._writer.write(b"".join(map(_line, lines)))
        return [await self._reply() for _ in lines]

    async def _command(self, line: str) -> Reply:
        self._writer.write(_line(line))
        return await self._reply()

    async def _reply(self) -> Reply:
        lines: list[str] = []
        enhanced = ""
        while len(lines) < _MAX_LINES:
            line = _REPLY.fullmatch((await self._reader.readuntil(b"\n")).rstrip(b"\r\n"))
            if line is None:
                raise ValueError("no reply")
            code = _ENHANCED.match(line[3])
            enhanced = code[0].decode("ascii") if code else enhanced
            lines.append(line[3].decode("ascii", "replace"))
            if line[2] == b"-":
                continue
            if int(line[1]) == _CLOSING:  # it may answer any command: RFC 5321, 4.2.1
                self._is_handed_over = False
                raise Throttled(refusals.wait_of(" ".join(lines)) or LATER_SECONDS)
            return Reply(int(line[1]), enhanced, tuple(lines))
        raise ValueError("a reply is too long")


def _line(text: str) -> bytes:
    """
    Return a command as it is written.

    Raises:
        ValueError: It is not one line of ASCII.
    """
    if "\r" in text or "\n" in text:
        raise ValueError("a command is one line")
    return text.encode("ascii") + b"\r\n"


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode("ascii")
