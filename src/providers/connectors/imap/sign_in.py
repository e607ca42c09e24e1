"""The account of one connection, as its credentials are stored now."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from providers.connectors.imap.account_memory import AccountMemory
from providers.connectors.imap.message_ids import MessageIds
from providers.failures import NeedsReauth, SendingRefused, Unreachable
from providers.http.events import CallEvent
from providers.imap import namespaces
from providers.imap.accounts import Account
from providers.imap.endpoints import Endpoint
from providers.imap.logins import Login
from providers.imap.pool import SessionPool
from providers.imap.session import Session
from providers.imap.submission import Submission
from providers.ports.opening import Opening

T = TypeVar("T")
_NO_SERVER = "The connection has no server for outgoing mail."


async def _cannot_renew() -> "SignIn | None":
    return None


async def _note_nothing(*, refused: bool) -> None:
    del refused


class NoteSubmission(Protocol):
    """Notes whether the server for outgoing mail refused the login or took it."""

    async def __call__(self, *, refused: bool) -> None: ...


class SignIn(NamedTuple):
    """
    Credentials of an account as they are stored now.

    Attributes:
        ids: Those of the connection.
        refused: Is called when the server refuses the account.
        submission: The account at the server for outgoing mail; None: nothing can be sent.
        renew: Returns a login with another access token than the refused one; None for passwords.
        note_submission: Learns of each login at the server for outgoing mail.
    """

    account: Account
    ids: MessageIds
    refused: Callable[[NeedsReauth], Awaitable[None]]
    submission: Account | None = None
    renew: Callable[[], "Awaitable[SignIn | None]"] = _cannot_renew
    note_submission: NoteSubmission = _note_nothing


ImapAccess = Callable[[], Awaitable[SignIn]]


def read_access(opening: Opening) -> ImapAccess:
    """
    Return what reads the login of a mailbox.

    Raises:
        KeyError: There are no logins.
    """
    info, logins, listener = opening.info, opening.logins, opening.notify
    if logins is None:
        raise KeyError(info.provider)
    endpoint = Endpoint.parse(info.base_url, "imap")

    def notify(method: str, outcome: str, began: float) -> None:
        if listener is not None:
            ended = time.perf_counter()
            listener(CallEvent(info.provider, method, outcome, began, ended, info.id))

    def sign_in(login: Login) -> SignIn:
        async def refused(failure: NeedsReauth) -> None:
            await logins.mark_refused(info.credential_id, login, failure)

        async def renew() -> SignIn | None:
            renewed = await logins.renew(info.credential_id, login)
            return None if renewed is None else sign_in(renewed)

        def account_at(server: Endpoint) -> Account:
            return Account(server, login.username, login.password, notify, login.has_token)

        submission = Endpoint.parse(login.submission, "smtp") if login.submission else None
        return SignIn(
            account_at(endpoint),
            MessageIds(login.id_key),
            refused,
            None if submission is None else account_at(submission),
            renew,
            partial(logins.note_submission, info.credential_id),
        )

    async def read() -> SignIn:
        return sign_in(await logins.read(info.credential_id))

    return read


@dataclass(slots=True)
class Connection:
    """
    An account during one call.

    Attributes:
        id: The connection's.
        email: The address of the mailbox.
        shared: Whether the mailbox is one that is shared with the account.
        sign_in: A refused access token is replaced once.
    """

    id: int
    email: str
    sign_in: SignIn
    memory: AccountMemory
    shared: bool = False

    @property
    def ids(self) -> MessageIds:
        return self.sign_in.ids

    async def read(
        self, work: Callable[[Session], Awaitable[T]], *, pool: SessionPool | None = None
    ) -> T:
        """Run *work*, which changes nothing, with a session of the account, of *pool* if named."""
        rooted = partial(self._in_mailbox, work)
        sessions = pool or self.memory.pool
        return await self._signed_in(lambda account: sessions.read(account, rooted))

    async def write(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run *work*, which may change something, with a session of the account."""
        rooted = partial(self._in_mailbox, work)
        return await self._signed_in(lambda account: self.memory.pool.write(account, rooted))

    async def _in_mailbox(self, work: Callable[[Session], Awaitable[T]], session: Session) -> T:
        """Run *work* with a session that knows which folders are those of the mailbox."""
        if session.root is None and self.shared:
            username = self.sign_in.account.username
            session.root = await namespaces.shared_mailbox(session, self.email, username)
        elif session.root is None:
            session.root = await namespaces.own_mailbox(session)
        return await work(session)

    async def submission(self, *, ends: float) -> Submission:
        """
        Log in at the server for outgoing mail; raises as `Submission.connect`.

        Raises:
            Unreachable: There is none.
        """
        account = self.sign_in.submission
        if account is None:
            raise Unreachable(_NO_SERVER, sent=False)
        try:
            try:
                submission = await Submission.connect(account, ends=ends)
            except SendingRefused:
                if not await self._renew() or self.sign_in.submission is None:
                    raise
                submission = await Submission.connect(self.sign_in.submission, ends=ends)
        except SendingRefused:
            await self.sign_in.note_submission(refused=True)
            raise
        await self.sign_in.note_submission(refused=False)
        return submission

    async def _signed_in(self, run: Callable[[Account], Awaitable[T]]) -> T:
        """Run *run*; once more with another token when the login, with which it began, failed."""
        try:
            try:
                return await run(self.sign_in.account)
            except NeedsReauth:
                if not await self._renew():
                    raise
                return await run(self.sign_in.account)
        except NeedsReauth as failure:
            await self.sign_in.refused(failure)
            raise

    async def _renew(self) -> bool:
        """Replace the access token; return whether there is another one."""
        renewed = await self.sign_in.renew()
        if renewed is None:
            return False
        self.sign_in = renewed
        return True
