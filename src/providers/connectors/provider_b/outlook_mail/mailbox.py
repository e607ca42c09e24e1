"""One mailbox of provider B. Source: wire report, 1A; decisions 5 and 16."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from providers import search_text
from providers.connectors.provider_b.account_cache import PREFER, ROOT, AccountCache
from providers.connectors.provider_b.outlook_mail import filter_query, mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.reading import MessageReader, SearchScope, most
from providers.connectors.provider_b.outlook_mail.response_types import Message
from providers.connectors.provider_b.outlook_mail.sending import Sender
from providers.dry_run import in_dry_run
from providers.failures import Missing, ProviderFailure, Stale
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.mail import delivery, query_matching, scanning
from providers.mail.lazy_records import LazyRecords
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import (
    Draft,
    Forward,
    MailChange,
    MailPosition,
    MailQuery,
    MailSlice,
    Reply,
)
from providers.records import mail as mail_records

MAX_IN_THREAD = 1000
_FOLDERS = {"TRASH": "deleteditems", "SPAM": "junkemail", "DRAFT": "drafts"}
_STATE = (("$select", "id,conversationId,parentFolderId,categories"),)
_NOTHING = MailSlice(emails=(), scanned_to=None, exhausted=True, total=0, total_exact=True)


class OutlookMailbox:
    """The mailbox behind one connection; see `providers.ports.mail.MailPort`."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, cache: AccountCache) -> None:
        """*cache* belongs to the caller, one per connection, and outlives this object."""
        cache.address = cache.address or info.account_email
        self._upstream = upstream
        self._cache = cache
        self._sender = Sender(upstream, cache)

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Return what matches after a position; see `MailPort.search`."""
        if query.text and not search_text.terms(query.text):
            return _NOTHING
        if filter_query.needs_search_index(query):
            return await self._searched(query, after, wanted)
        return await self._filtered(query, after, wanted)

    async def get(self, message_id: str, *, wanted: AbstractSet[str]) -> mail_records.Email:
        """Read one message; see `MailPort.get`."""
        message = await self._message(message_id, selected_fields.message(frozenset(wanted)))
        return mapping.email(message, wanted)

    async def thread(self, thread_id: str, *, wanted: AbstractSet[str]) -> mail_records.Thread:
        """Read a conversation; see `MailPort.thread`."""
        _require_valid_id(thread_id)
        trash, _ = await self._cache.folders(self._upstream)
        place = SearchScope(
            path=("messages",),
            is_visible=lambda one: not one.is_draft and one.parent_folder_id != trash,
        )
        reader = MessageReader(self._upstream, place)
        found = await reader.conversation(thread_id, wanted, most=MAX_IN_THREAD)
        if not found:
            raise Missing
        found.sort(key=lambda one: (-scanning.position(one).rank[0], one.id))
        return mail_records.Thread(id=thread_id, provider=mapping.PROVIDER, messages=tuple(found))

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once; see `MailPort.send`."""
        return await self._sender.send(draft)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Answer a message once; see `MailPort.reply`."""
        _require_valid_id(message_id)
        await self._foreseen(message_id)
        return await self._sender.reply(message_id, reply)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Pass a message on once; see `MailPort.forward`."""
        _require_valid_id(message_id)
        await self._foreseen(message_id)
        return await self._sender.forward(message_id, forward)

    async def trash(self, message_id: str) -> None:
        """Move a message to the trash; see `MailPort.trash`."""
        try:
            await self._untrashed(message_id)
            await self._upstream.call(
                "POST",
                *ROOT,
                "messages",
                message_id,
                "move",
                json={"destinationId": "deleteditems"},
                headers=PREFER,
            )
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        """Change read state, then labels; see `MailPort.change`."""
        try:
            message = await self._untrashed(message_id)
            if change.read is not None:
                await self._patch(message_id, {"isRead": change.read})
            if change.add_labels or change.remove_labels:
                await self._relabel(message_id, change)
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure
        return mail_records.SentMessage(email_id=message.id, thread_id=message.conversation_id)

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._upstream.call(
            "GET", *ROOT, "mailFolders", "inbox", params=(("$select", "id"),), headers=PREFER
        )

    # -- searching

    async def _searched(
        self, query: MailQuery, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Search: everything found is ordered here, then the details of one page are fetched."""
        text = filter_query.needs_text_check(query)
        sieve = query_matching.needed_attributes(query, text=text)
        reader = MessageReader(self._upstream, await self._place(query))
        found, reached = await reader.searched(filter_query.search(query, after), sieve)
        passing = [
            one
            for one in _passing(scanning.sorted_after(found, after), query, sieve, text=text)
            if reached is None or scanning.position(one).rank < reached.rank
        ]
        if reached is not None and after is not None and reached.rank <= after.rank:
            reached = None  # upstream gives no more than this, so this is the end
        messages = passing[: query.limit]
        whole = len(passing) <= query.limit
        return MailSlice(
            emails=await self._completed(reader, messages, wanted, sieve),
            scanned_to=reached if whole else None,
            exhausted=whole and reached is None,
            total=len(passing),
            total_exact=reached is None,
        )

    async def _filtered(
        self, query: MailQuery, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Filter: upstream orders and counts; what it cannot ask is looked at page by page."""
        place = await self._place(query)
        in_all = place.path == ("messages",)
        folders = await self._cache.folders(self._upstream) if in_all else ()
        out_of_sight = tuple(folder for folder in folders if folder)
        asked = filter_query.mail_filter(query, after, out_of_sight=out_of_sight)
        sieve = query_matching.needed_attributes(query, text=True)
        scanned = frozenset(sieve | wanted if asked.narrow else sieve)
        reader = MessageReader(self._upstream, place)

        async def keep(messages: Sequence[Message]) -> Sequence[Message]:
            return _passing(messages, query, sieve, text=True)

        found = await scanning.scan(
            reader.pages(asked, scanned, query.limit + 2 if asked.narrow else most(scanned)),
            after=after,
            limit=query.limit,
            keep=keep,
        )
        total, exact = found.counted, found.exhausted
        if not exact and asked.narrow and reader.counted is not None:
            total, exact = max(total, reader.counted), asked.exact and after is None
        return MailSlice(
            emails=await self._completed(reader, found.emails, wanted, scanned),
            scanned_to=found.scanned_to,
            exhausted=found.exhausted,
            total=total,
            total_exact=exact,
        )

    async def _completed(
        self,
        reader: MessageReader,
        messages: Sequence[Message],
        wanted: AbstractSet[str],
        have: AbstractSet[str],
    ) -> Sequence[mail_records.Email]:
        """Make records of messages, fetching what is wanted beyond what their search brought."""
        if not selected_fields.costly_attributes(wanted) <= have:
            messages = await reader.details(messages, wanted)
        return LazyRecords(messages, lambda some: mapping.emails(some, wanted))

    async def _place(self, query: MailQuery) -> SearchScope:
        folder = query_matching.folder_label(query)
        if folder is not None:
            path = ("mailFolders", _FOLDERS[folder], "messages")
            return SearchScope(path=path, is_visible=lambda _: True)
        hidden = set(await self._cache.folders(self._upstream))
        return SearchScope(
            path=("messages",),
            is_visible=lambda one: not one.is_draft and one.parent_folder_id not in hidden,
        )

    # -- changing

    async def _message(self, message_id: str, params: selected_fields.Params) -> Message:
        _require_valid_id(message_id)
        answer = await self._upstream.call(
            "GET", *ROOT, "messages", message_id, params=params, headers=PREFER
        )
        message = answer.decode(Message)
        if not mapping.have_valid_ids([message]):
            raise Missing
        return message

    async def _foreseen(self, message_id: str) -> None:
        """In a rehearsal, see that a message is there; else the first change would tell."""
        if in_dry_run():
            await self._message(message_id, _STATE)

    async def _untrashed(self, message_id: str) -> Message:
        message = await self._message(message_id, _STATE)
        trash, _ = await self._cache.folders(self._upstream)
        if message.parent_folder_id == trash:
            raise Missing
        return message

    async def _relabel(self, message_id: str, change: MailChange) -> None:
        """Replace the whole list, as upstream wants it, unless it changed meanwhile; try twice."""
        for last in (False, True):
            message = await self._message(message_id, _STATE)
            have = message.categories or ()
            labels = _labelled(have, change)
            if labels == list(have):
                return
            tag = {"if-match": message.etag} if message.etag else {}
            try:
                await self._patch(message_id, {"categories": labels}, tag)
            except Stale:
                if last:
                    raise
            else:
                return

    async def _patch(
        self, message_id: str, members: Mapping[str, object], headers: Mapping[str, str] = {}
    ) -> None:
        await self._upstream.call(
            "PATCH", *ROOT, "messages", message_id, json=members, headers={**PREFER, **headers}
        )


def _passing(
    messages: Sequence[Message], query: MailQuery, sieve: AbstractSet[str], *, text: bool
) -> Sequence[Message]:
    """Return what passes a query; *sieve* is what that looks at, see `needed_attributes`."""
    if not query_matching.restricts(query, text=text):
        return messages
    emails = zip(messages, mapping.emails(messages, sieve), strict=True)
    return [one for one, email in emails if query_matching.matches(email, query, text=text)]


def _labelled(have: Sequence[str], change: MailChange) -> list[str]:
    removed = {search_text.fold(remove_label) for remove_label in change.remove_labels}
    labels = [one for one in have if search_text.fold(one) not in removed]
    known = {search_text.fold(label) for label in labels}
    for name in change.add_labels:
        if search_text.fold(name) not in known:
            known.add(search_text.fold(name))
            labels.append(name)
    return labels


def _require_valid_id(native: str) -> None:
    if not is_provider_b_id(native):
        raise Missing
