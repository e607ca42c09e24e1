"""
Several mailboxes as one: search all of them, merge newest first, route by id prefix.

Each mailbox is read from a position of its own. So no message is lost or repeated when mail
arrives between two pages, or when a mailbox fails on one: docs/spec/email.md#merging.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Self, TypeVar

import msgspec
from msgspec.structs import replace

from providers import fanout, ids
from providers.dry_run import in_dry_run
from providers.failures import Missing, OutcomeUnknown, ProviderFailure
from providers.first_holder import (
    read_from_first_holder,
    read_many_from_first_holders,
    write_to_first_holder,
)
from providers.mail import delivery, merging
from providers.ports import mail
from providers.ports.changes import ChangePort
from providers.ports.connection import ConnectionInfo
from providers.records import mail as mail_records
from providers.write_previews import current_preview

T = TypeVar("T")
Pair = merging.Pair

_BEGINNING = merging.ConnectionPosition()


async def _find(port: mail.MailPort, native: str) -> object:
    return await port.get(native, projection=frozenset({"id"}))


class MergedMailbox:
    """The mailboxes that a caller may use."""

    def __init__(
        self,
        connections: Sequence[Pair],
        *,
        timeout_seconds: float = fanout.CONNECTION_TIMEOUT_SECONDS,
    ) -> None:
        """Take the usable connections and their ports; the timeout is that of each mailbox."""
        self._connections = tuple(sorted(connections, key=_connection_id))
        self._by_provider: dict[str, list[Pair]] = {}
        for pair in self._connections:
            self._by_provider.setdefault(pair[0].provider, []).append(pair)
        self.timeout_seconds = timeout_seconds
        self._searched = self._first_of_each_account()
        self._beginnings = dict.fromkeys([info.id for info, _ in self._searched], _BEGINNING)

    async def search(
        self,
        query: mail.MailQuery,
        *,
        positions: Mapping[int, merging.ConnectionPosition],
        projection: AbstractSet[str],
    ) -> merging.MailPage:
        """
        Search every mailbox from its position on, and merge the results.

        Args:
            query: Its limit is that of the page.
            positions: Connection id -> position after the page before; empty for the first page.
            projection: Attributes of `Email`.

        Raises:
            Throttled, TimedOut, AllFailed: Every mailbox failed; see `combined_failure`.
        """
        before = self._beginnings
        unread: Sequence[Pair] = self._searched
        if positions:
            before = {name: positions.get(name, _BEGINNING) for name in before}
            unread = [pair for pair in unread if not before[pair[0].id].exhausted]
        asked = query
        if query.may_be_short != (len(unread) > 1):
            asked = msgspec.structs.replace(query, may_be_short=len(unread) > 1)
        results = await fanout.gather_results(
            [
                port.search(asked, after=before[info.id].after, projection=projection)
                for info, port in unread
            ],
            self.timeout_seconds,
        )
        slices: list[merging.MailboxSlice] = []
        warnings: list[fanout.ConnectionWarning] = []
        for (info, _), result in zip(unread, results, strict=True):
            if isinstance(result, ProviderFailure):
                warnings.append(fanout.ConnectionWarning(info, result))
            else:
                if result.doubt is not None:
                    warnings.append(fanout.ConnectionWarning(info, result.doubt))
                slices.append(merging.MailboxSlice(info, result, before[info.id]))
        if unread and not slices:
            raise fanout.combined_failure(warnings)
        chosen = merging.merge_slices(slices, query.limit)
        return merging.build_page(chosen, slices, before, warnings=warnings, projection=projection)

    async def first_pages(
        self, query: mail.MailQuery, *, projection: AbstractSet[str]
    ) -> list[tuple[ConnectionInfo, mail.MailSlice | ProviderFailure]]:
        """Search each account once; one entry per account, by connection id, with native ids."""
        results = await fanout.gather_results(
            [port.first_page(query, projection=projection) for _, port in self._searched],
            self.timeout_seconds,
        )
        return [(pair[0], result) for pair, result in zip(self._searched, results, strict=True)]

    def histories(self) -> list[tuple[ConnectionInfo, ChangePort | None]]:
        """Return the history of each account, by connection id; None where upstream has none."""
        return [(info, port.changes) for info, port in self._searched]

    async def get(self, email_id: str, *, projection: AbstractSet[str]) -> mail_records.Email:
        """
        Read one message by its prefixed id.

        Raises:
            Missing: The id is not one of ours, or no mailbox of its provider has it.
        """

        async def read(pair: Pair, native: str) -> mail_records.Email:
            email = await pair[1].get(native, projection=projection)
            return merging.shown(pair, [email], projection)[0]

        return await self.first_holder(email_id, read)

    async def get_many(
        self, email_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> dict[str, mail_records.Email | ProviderFailure]:
        """Read messages by their prefixed ids; one entry per id, a failure as `get`'s."""

        async def read(pair: Pair, natives: Sequence[str]) -> Mapping[str, mail_records.Email]:
            emails = await pair[1].get_many(natives, projection=projection)
            return dict(zip(emails, merging.shown(pair, emails.values(), projection), strict=True))

        return await self.first_holders(email_ids, read)

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> mail_records.Thread:
        """
        Read a conversation by its prefixed id, oldest message first.

        Raises:
            Missing: As `get`; also when nothing but drafts and trash is left of it.
        """

        async def read(pair: Pair, native: str) -> mail_records.Thread:
            thread = await pair[1].thread(native, projection=projection)
            return merging.shown_thread(pair, thread, projection)

        return await self.first_holder(thread_id, read)

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> dict[str, mail_records.Thread | ProviderFailure]:
        """Read conversations by their prefixed ids; one entry per id, a failure as `thread`'s."""

        async def read(pair: Pair, natives: Sequence[str]) -> Mapping[str, mail_records.Thread]:
            threads = await pair[1].threads(natives, projection=projection)
            return {
                name: merging.shown_thread(pair, each, projection) for name, each in threads.items()
            }

        return await self.first_holders(thread_ids, read)

    async def attachment(self, email_id: str, attachment_id: str) -> mail.AttachmentFile:
        """
        Find an attachment of one message, by the message's prefixed id.

        Raises:
            Missing: As `get`; also when the message has no such attachment.
        """
        return await self.first_holder(
            email_id, lambda pair, native: pair[1].attachment(native, attachment_id)
        )

    async def send(self, connection_id: int, draft: mail.Draft) -> mail_records.SentMessage:
        """
        Send a new message from one connection.

        Raises:
            Missing: There is no such connection here.
            OutcomeUnknown: It may have been sent, perhaps from another connection.
        """
        pairs = [pair for pair in self._connections if pair[0].id == connection_id]
        for info, port in _of_attempt(draft.attempt, pairs):
            with delivery.time_limit(draft.files):
                if in_dry_run() and current_preview() is not None:
                    await _probe(port)
                sent = await port.send(replace(draft, attempt=bound(draft.attempt, info)))
            return _sent(sent, info.provider)
        raise Missing

    async def reply(self, email_id: str, reply: mail.Reply) -> mail_records.SentMessage:
        """
        Reply to a message from the mailbox that holds it; raises as `MailPort.reply`.

        Raises:
            ReadOnlyMailbox: The mailbox that holds it may only be read.
        """

        async def write(pair: Pair, native: str) -> mail_records.SentMessage:
            info, port = pair
            return await port.reply(
                native, dataclasses.replace(reply, attempt=bound(reply.attempt, info))
            )

        with delivery.time_limit(reply.files):
            return await self.write(email_id, write, attempt=reply.attempt)

    async def forward(self, email_id: str, forward: mail.Forward) -> mail_records.SentMessage:
        """Forward a message from the mailbox that holds it; raises as `reply`."""

        async def write(pair: Pair, native: str) -> mail_records.SentMessage:
            info, port = pair
            attempt = bound(forward.attempt, info)
            return await port.forward(native, replace(forward, attempt=attempt))

        with delivery.time_limit(forward.files):
            return await self.write(email_id, write, attempt=forward.attempt)

    async def trash(self, email_id: str) -> None:
        """Move a message to the trash; raises as `MailPort.trash`, and `ReadOnlyMailbox`."""

        async def trash(pair: Pair, native: str) -> mail_records.SentMessage:
            await pair[1].trash(native)
            return mail_records.SentMessage()

        await self.write(email_id, trash)

    async def change(self, email_id: str, change: mail.MailChange) -> mail_records.SentMessage:
        """Change read state and labels; raises as `trash`."""
        return await self.write(email_id, lambda pair, native: pair[1].change(native, change))

    def behind(self, wrap: Callable[[ConnectionInfo, mail.MailPort], mail.MailPort]) -> Self:
        """Return the same mailboxes, each behind what *wrap* returns for it."""
        pairs = [(info, wrap(info, port)) for info, port in self._connections]
        return type(self)(pairs, timeout_seconds=self.timeout_seconds)

    # -- routing

    def _first_of_each_account(self) -> tuple[Pair, ...]:
        """Return the connections to search: the first one of each account."""
        if len(self._connections) < 2:
            return self._connections
        by_account = {
            (info.provider, info.base_url, info.account_email.casefold() or info.id): (info, port)
            for info, port in reversed(self._connections)
        }
        return tuple(sorted(by_account.values(), key=_connection_id))

    def _candidates(self, mail_id: str) -> tuple[str, str, list[Pair]]:
        parts = ids.split_mail_id(mail_id)
        if parts is None:
            raise Missing
        provider, native = parts
        return provider, native, self._by_provider.get(provider, [])

    async def first_holder(self, mail_id: str, read: Callable[[Pair, str], Awaitable[T]]) -> T:
        """Read an object by its prefixed id. Raises as `get`."""
        _, native, candidates = self._candidates(mail_id)
        if len(candidates) == 1:
            return await read(candidates[0], native)
        pairs = [(pair[0], pair) for pair in candidates]
        return await read_from_first_holder(pairs, lambda pair: read(pair, native))

    async def first_holders(
        self,
        mail_ids: Sequence[str],
        read: Callable[[Pair, Sequence[str]], Awaitable[Mapping[str, T]]],
    ) -> dict[str, T | ProviderFailure]:
        """Read objects of all providers at once; one entry per id."""
        results: dict[str, T | ProviderFailure] = {mail_id: Missing() for mail_id in mail_ids}
        natives: dict[str, dict[str, str]] = {}  # provider -> native id -> prefixed id
        for mail_id in mail_ids:
            parts = ids.split_mail_id(mail_id)
            if parts is not None:
                natives.setdefault(parts[0], {})[parts[1]] = mail_id

        async def read_provider(provider: str, mail_id_by_native: Mapping[str, str]) -> None:
            pairs = [(pair[0], pair) for pair in self._by_provider.get(provider, [])]
            read_results = await read_many_from_first_holders(pairs, list(mail_id_by_native), read)
            for native, result in read_results.items():
                results[mail_id_by_native[native]] = result

        await asyncio.gather(*(read_provider(*entry) for entry in natives.items()))
        return results

    async def write(
        self,
        mail_id: str,
        write: Callable[[Pair, str], Awaitable[mail_records.SentMessage]],
        *,
        attempt: mail.SendAttempt | None = None,
        find: Callable[[mail.MailPort, str], Awaitable[object]] = _find,
    ) -> mail_records.SentMessage:
        """
        Write through the connection that holds an object; return prefixed ids.

        Args:
            mail_id: Prefixed id of the object.
            write: Makes the call with a connection and the native id.
            attempt: Of a send.
            find: Reads the object; raises `Missing` where a mailbox does not hold it.

        Raises:
            Missing: Not found.
            ReadOnlyMailbox: In a mailbox that may only be read.
        """
        provider, native, candidates = self._candidates(mail_id)
        pairs = [(pair[0], pair) for pair in _of_attempt(attempt, candidates)]
        try:
            sent = await write_to_first_holder(pairs, lambda pair: write(pair, native))
        except Missing:
            for info, port in candidates:
                if not info.can_write and await _has(find(port, native)):
                    raise mail.ReadOnlyMailbox from None
            raise
        return _sent(sent, provider)


def _connection_id(pair: Pair) -> int:
    return pair[0].id


def _of_attempt(attempt: mail.SendAttempt | None, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """
    Return the connections that may send: after a draft was stored, the one that holds it.

    Raises:
        OutcomeUnknown: That connection is not among them, or may not write any more.
    """
    if attempt is None or attempt.draft_id is None:
        return pairs
    holder = attempt.draft_id.partition(":")[0]
    pairs = [pair for pair in pairs if str(pair[0].id) == holder and pair[0].can_write]
    if not pairs:
        raise OutcomeUnknown
    return pairs


def bound(attempt: mail.SendAttempt, info: ConnectionInfo) -> mail.SendAttempt:
    """Return *attempt* for one connection: native draft ids, and the account's domain."""

    async def store_draft(draft_id: str | None) -> None:
        await attempt.store(None if draft_id is None else f"{info.id}:{draft_id}")

    return dataclasses.replace(
        attempt,
        message_id=delivery.full_message_id(attempt.message_id, info.account_email),
        earlier_ids=tuple(
            delivery.full_message_id(earlier, info.account_email) for earlier in attempt.earlier_ids
        ),
        held_id=attempt.held_id and delivery.full_message_id(attempt.held_id, info.account_email),
        draft_id=attempt.draft_id and attempt.draft_id.partition(":")[2],
        store_draft=attempt.store_draft and store_draft,
    )


async def _probe(port: mail.MailPort) -> None:
    """Read for a dry run of a send, which reads nothing; fail as the creation of a draft fails."""
    try:
        await port.probe()
    except ProviderFailure as failure:
        raise delivery.not_sent(failure) from failure


async def _has(finding: Awaitable[object]) -> bool:
    try:
        await finding
    except ProviderFailure:
        return False
    return True


def _sent(sent: mail_records.SentMessage, provider: str) -> mail_records.SentMessage:
    return mail_records.SentMessage(
        email_id=sent.email_id and ids.join_mail_id(provider, sent.email_id),
        thread_id=sent.thread_id and ids.join_mail_id(provider, sent.thread_id),
        held=sent.held,
    )
