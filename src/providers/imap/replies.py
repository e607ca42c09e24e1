"""Literals, answers and failures of the commands of one IMAP connection."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from providers.failures import Refused, Unreachable
from providers.imap import parsing
from providers.imap.parsing import Pieces, Row
from providers.turns import in_thread

T = TypeVar("T")

# About 13 milliseconds of parsing; a usual page of messages has half as many.
_FEW_TOKENS: Final = 10_000
_FEW_LINES: Final = 5_000


class Disconnected(Unreachable):
    """The server ended the connection; *sent* tells whether the command may have run."""


class Rejected(Refused):
    """
    The server answered a command with NO or BAD.

    Attributes:
        code: The response code in capitals, such as TRYCREATE; "" without one.
        is_syntax: Whether it was BAD.
        text: What the server said; it is not shown to callers.
    """

    def __init__(self, code: str, *, is_syntax: bool, text: str = "") -> None:
        super().__init__()
        self.code = code
        self.is_syntax = is_syntax
        self.text = text


@dataclass(frozen=True, slots=True)
class Literal:
    """
    A part of a command that is not held in memory.

    Attributes:
        size: Bytes.
        chunks: Returns the bytes from their start.
    """

    size: int
    chunks: Callable[[], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True)
class Reply:
    """
    The answer of one command.

    Attributes:
        status: The tagged line without its tag, such as `OK [READ-ONLY] done`.
        untagged: The other responses, in order.
    """

    status: bytes
    untagged: tuple[Pieces, ...]

    async def parsed(self, parse: "Callable[[Reply], T]") -> T:
        """Return what *parse* makes of the answer; a long one is parsed in a thread."""
        is_long = len(self.untagged) > _FEW_LINES or self._tokens > _FEW_TOKENS
        return await in_thread(lambda: parse(self), is_long=is_long)

    @property
    def _tokens(self) -> int:
        return sum(pieces.tokens for pieces in self.untagged)

    def rows(self) -> dict[int, Row]:
        """
        Return the items of FETCH responses by UID; items of one message are joined.

        0 stands for the UIDs of rows that were cut before it.
        """
        rows: dict[int, Row] = {}
        for pieces in self.untagged:
            row = parsing.fetch_row(pieces)
            if row is None:
                continue
            uid = parsing.number(row.get("UID"))
            if uid or row.is_cut:
                joined = rows.setdefault(uid, Row())
                joined.update(row)
                joined.is_cut = joined.is_cut or row.is_cut
        return rows

    def texts(self, word: str) -> list[bytes]:
        """Return what follows `* WORD ` in the untagged lines of this word."""
        head = f"* {word} ".encode()
        return [
            pieces[0][len(head) :]
            for pieces in self.untagged
            if pieces[0][: len(head)].upper() == head
        ]


class OpenFolder(NamedTuple):
    """
    The folder that a session has open.

    Attributes:
        name: In the server's spelling.
        permanent_flags: The flags that it keeps; None: the server does not say.
    """

    name: bytes
    is_writable: bool
    uid_validity: int
    permanent_flags: tuple[str, ...] | None = None


class MailboxRoot(NamedTuple):
    """
    The place of the folders of one mailbox.

    Attributes:
        inbox: The name of its inbox, in the server's spelling.
        prefix: What the names of its other folders begin with; empty in an own mailbox.
        foreign: Of an own mailbox: what the names of the folders of others begin with.
    """

    inbox: bytes = b"INBOX"
    prefix: bytes = b""
    foreign: tuple[bytes, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether it belongs to somebody else than the login."""
        return bool(self.prefix)

    def holds(self, folder: bytes) -> bool:
        """Return whether a folder belongs to the mailbox."""
        if self.is_shared:
            return folder == self.inbox or folder.startswith(self.prefix)
        return not folder.startswith(self.foreign)

    def relative(self, folder: bytes) -> bytes:
        """Return the name of a folder within the mailbox."""
        return b"INBOX" if folder == self.inbox else folder.removeprefix(self.prefix)
