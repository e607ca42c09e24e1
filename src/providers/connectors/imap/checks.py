"""Checks of a mailbox on an own server, and of its server for outgoing mail."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from providers.connectors.imap import reading
from providers.connectors.imap.account_memory import AccountMemory
from providers.connectors.imap.folders import Role, read_folders
from providers.connectors.imap.sign_in import Connection, SignIn, read_access
from providers.failures import NeedsReauth, ProviderFailure, Throttled
from providers.imap import parsing
from providers.imap.connecting import remedy_of
from providers.imap.pool import MAX_SESSIONS
from providers.imap.rights import MEANINGS, read_rights
from providers.imap.session import Rejected, Session
from providers.imap.submission import CONNECT_SECONDS
from providers.ports.checks import Finding, Observation, Outcome, expect
from providers.ports.opening import Opening

# Extension -> what follows when the server lacks it.
_EXTENSIONS = {
    "UIDPLUS": "deletions need MOVE, and stored copies are looked for by their Message-ID",
    "MOVE": "deletions are copies that are removed afterwards",
    "LIST-STATUS": "each listing costs one command more per folder",
    "ESEARCH": "results of searches are longer",
}
_ROLES = (Role.SENT, Role.DRAFTS, Role.TRASH, Role.JUNK)
_MISSING_EXTENSION = "The server has no quota, or does not report it."
_BY_HAND = (
    "Send a message to yourself twice with the same Idempotency-Key: it must arrive once, with one "
    "copy in the Sent folder."
)


async def check_mailbox(opening: Opening) -> list[Finding]:
    """
    Check a mailbox with sessions of its own; nothing is changed, the connection's status neither.

    Returns:
        One finding per item, in order; after a refused login none but the first.
    """
    info = opening.info
    try:
        sign_in = _without_notes(await read_access(opening)())
    except ProviderFailure as failure:
        return [_failed("credentials", failure)]
    memory = AccountMemory()
    shared = info.shared_on is not None
    connection = Connection(info.id, info.account_email, sign_in, memory, shared)
    try:
        first = await _observe("credentials", lambda: _log_in(connection))
        findings = [first]
        if first.outcome is not Outcome.FAILED:
            for item, work in {**_ITEMS, **(_SHARED_ITEMS if shared else {})}.items():
                findings.append(await _observe(item, _reading(connection, work)))
            findings.append(await _observe("connections", lambda: _open_several(connection)))
        findings.append(await _observe("outgoing-mail", lambda: _submission(connection)))
        findings.append(Finding(item="send", outcome=Outcome.BY_HAND, detail=_BY_HAND))
        return findings
    finally:
        memory.pool.close()


async def _log_in(connection: Connection) -> Observation:
    await connection.read(lambda session: reading.open_folder(session, _inbox(session)))
    mechanism = "access token" if connection.sign_in.account.has_token else "password"
    return (Outcome.AS_EXPECTED, f"The server takes the {mechanism}, and the account can be read.")


async def _extensions(session: Session) -> Observation:
    missing = {name: text for name, text in _EXTENSIONS.items() if name not in session.capabilities}
    if {"MOVE", "UIDPLUS"} <= set(missing):
        return Outcome.DIFFERS, "The server has neither MOVE nor UIDPLUS: nothing can be deleted."
    if missing:
        listed = "; ".join(f"{name} ({text})" for name, text in missing.items())
        return Outcome.AS_EXPECTED, f"The server lacks {listed}."
    return Outcome.AS_EXPECTED, "The server has all extensions that the gateway uses."


async def _folders(session: Session) -> Observation:
    folders = await read_folders(session)
    roles = {folder.role for folder in folders}
    missing = [role.value for role in _ROLES if role not in roles]
    special = "SPECIAL-USE" in session.capabilities
    source = "in the list of the server" if special else "by their usual names"
    detail = f"The account has {len(folders)} folders; their roles are found {source}."
    if missing:
        detail += f" There is none for {', '.join(missing)}: it is made when it is needed."
    return expect(Role.INBOX in roles, detail, "The account has no inbox.")


async def _labels(session: Session) -> Observation:
    # EXAMINE does not report the flags that are kept; SELECT changes no message either.
    opened = await reading.open_folder(session, _inbox(session), writable=True)
    flags = opened.permanent_flags
    return expect(
        flags is None or "\\*" in flags,
        "The inbox takes new labels (keywords).",
        "The inbox takes no new labels (keywords): a change of labels is refused.",
    )


async def _quota(session: Session) -> Observation:
    if "QUOTA" not in session.capabilities:
        return Outcome.AS_EXPECTED, _MISSING_EXTENSION
    try:
        reply = await session.command('GETQUOTAROOT "INBOX"')
    except Rejected:
        return Outcome.AS_EXPECTED, _MISSING_EXTENSION
    for content in reply.texts("QUOTA"):
        values = parsing.parse([content])
        resources = values[-1] if values and isinstance(values[-1], list) else []
        for name, used, limit in zip(*[iter(resources)] * 3, strict=False):
            if parsing.text(name).upper() == "STORAGE" and parsing.number(limit):
                share = 100 * parsing.number(used) // parsing.number(limit)
                return expect(
                    share < _NEARLY_FULL,
                    f"{share} % of the mailbox's space are used.",
                    f"{share} % of the mailbox's space are used: soon nothing can be stored.",
                )
    return Outcome.AS_EXPECTED, _MISSING_EXTENSION


_NEARLY_FULL = 95  # percent
_ITEMS: dict[str, Callable[[Session], Awaitable[Observation]]] = {
    "extensions": _extensions,
    "folders": _folders,
    "labels": _labels,
    "quota": _quota,
}


def _inbox(session: Session) -> bytes:
    return session.root.inbox if session.root is not None else b"INBOX"


async def _rights(session: Session) -> Observation:
    """Tell what the account may do in the folders of a shared mailbox that writes need."""
    if "ACL" not in session.capabilities:
        return Outcome.DIFFERS, "The server tells no rights (ACL): what it refuses is seen then."
    sentences = []
    for folder in await read_folders(session):
        if folder.role in (Role.INBOX, *_ROLES):
            rights = await read_rights(session, folder.name) or frozenset()
            letters = "".join(letter for letter in MEANINGS if letter in rights)
            sentences.append(f"{folder.label}: {letters or 'none'}")
    return expect(
        bool(sentences),
        f"Rights of the account: {'; '.join(sentences)}. Reading needs lr, marking as read s, "
        "labels w, drafts ite, deletion te and in the trash i, a copy of sent mail i.",
        "The account sees neither the inbox nor a folder with a role.",
    )


_SHARED_ITEMS = {"rights": _rights}


async def _open_several(connection: Connection) -> Observation:
    """Log in as often as a process of the gateway may, at the same time."""
    account = connection.sign_in.account
    connection.memory.pool.close()  # else it is one session more than a process opens
    async with AsyncExitStack() as stack:
        results = await asyncio.gather(
            *(Session.connect(account) for _ in range(MAX_SESSIONS)), return_exceptions=True
        )
        for session in results:
            if isinstance(session, Session):
                stack.callback(session.close)
    refused = [result for result in results if isinstance(result, BaseException)]
    if any(not isinstance(failure, ProviderFailure) for failure in refused):
        raise refused[0]
    is_limited = any(isinstance(failure, Throttled) for failure in refused)
    reason = "the server limits them" if is_limited else "the others failed"
    return expect(
        not refused,
        f"{MAX_SESSIONS} connections at the same time are accepted, as a process may open.",
        f"{MAX_SESSIONS - len(refused)} of {MAX_SESSIONS} connections at the same time are "
        f"accepted; {reason}. Requests may be answered by 429.",
    )


async def _submission(connection: Connection) -> Observation:
    if connection.sign_in.submission is None:
        return Outcome.AS_EXPECTED, "There is no server for outgoing mail: the account is read."
    submission = await connection.submission(ends=time.monotonic() + CONNECT_SECONDS)
    extensions = submission.extensions
    submission.close()
    size = extensions.get("SIZE", "")
    limit = f" Messages have at most {int(size) // 1_048_576} MiB." if size.isdecimal() else ""
    return expect(
        "8BITMIME" in extensions,
        f"The server takes the login.{limit}",
        f"The server takes the login, and lacks 8BITMIME.{limit}",
    )


def _reading(
    connection: Connection, work: Callable[[Session], Awaitable[Observation]]
) -> Callable[[], Awaitable[Observation]]:
    return lambda: connection.read(work)


async def _observe(item: str, observe: Callable[[], Awaitable[Observation]]) -> Finding:
    began = time.monotonic()
    try:
        outcome, detail = await observe()
    except ProviderFailure as failure:
        return _failed(item, failure, began=began)
    return Finding(item=item, outcome=outcome, detail=detail, latency_ms=_since(began))


def _failed(item: str, failure: ProviderFailure, *, began: float | None = None) -> Finding:
    remedy = remedy_of(failure.message)
    detail = failure.message if remedy is None else f"{failure.message} {remedy}"
    latency_ms = 0 if began is None else _since(began)
    return Finding(item=item, outcome=Outcome.FAILED, detail=detail, latency_ms=latency_ms)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _without_notes(sign_in: SignIn) -> SignIn:
    """Return the login without what notes its refusals at the connection."""

    async def note_nothing(*, refused: bool) -> None:
        del refused

    async def leave(failure: NeedsReauth) -> None:
        del failure

    async def renew() -> SignIn | None:
        renewed = await sign_in.renew()
        return None if renewed is None else _without_notes(renewed)

    return sign_in._replace(refused=leave, note_submission=note_nothing, renew=renew)
