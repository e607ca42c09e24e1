"""The mail port of one Outlook account."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from providers import search_text
from providers.connectors.provider_b.account_cache import MESSAGES, PREFER, ROOT, AccountCache
from providers.connectors.provider_b.outlook_mail import (
    attachments,
    filter_query,
    mapping,
    selected_fields,
)
from providers.connectors.provider_b.outlook_mail.reading import (
    MessageReader,
    SearchScope,
    page_size,
)
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
    AttachmentFile,
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
    """Mailbox of one connection; implements `providers.ports.mail.MailPort`."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, cache: AccountCache) -> None:
        """*cache* belongs to the caller, one per connection, and outlives this object."""
        cache.address = cache.address or info.account_email
        self._upstream = upstream
        self._call = partial(upstream.call, headers=PREFER)
        self._cache = cache
        self._sender = Sender(upstream, cache)

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Return matching messages after a position; see `MailPort.search`."""
        if not query_matching.can_match(query):
            return _NOTHING
        if filter_query.needs_search_index(query):
            return await self._search(query, after, wanted)
        return await self._filter(query, after, wanted)

    async def get(self, message_id: str, *, wanted: AbstractSet[str]) -> mail_records.Email:
        """Read one message; see `MailPort.get`."""
        message = await self._message(message_id, selected_fields.message(frozenset(wanted)))
        return mapping.email(message, wanted)

    async def thread(self, thread_id: str, *, wanted: AbstractSet[str]) -> mail_records.Thread:
        """Read a conversation; see `MailPort.thread`."""
        _require_valid_id(thread_id)
        trash, _ = await self._cache.folders(self._upstream)
        scope = SearchScope(
            path=("messages",),
            is_visible=lambda message: (
                not message.is_draft and message.parent_folder_id not in trash
            ),
        )
        reader = MessageReader(self._upstream, scope)
        emails = await reader.conversation(thread_id, wanted, max_messages=MAX_IN_THREAD)
        if not emails:
            raise Missing
        emails.sort(key=lambda email: (-scanning.position(email).rank[0], email.id))
        return mail_records.Thread(id=thread_id, provider=mapping.PROVIDER, messages=tuple(emails))

    async def attachment(self, message_id: str, attachment_id: str) -> AttachmentFile:
        """Find an attachment; see `MailPort.attachment`."""
        _require_valid_id(message_id)
        _require_valid_id(attachment_id)
        return await attachments.find(self._upstream, message_id, attachment_id)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once; see `MailPort.send`."""
        return await self._sender.send(draft)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once; see `MailPort.reply`."""
        _require_valid_id(message_id)
        await self._check_in_dry_run(message_id)
        return await self._sender.reply(message_id, reply)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once; see `MailPort.forward`."""
        _require_valid_id(message_id)
        await self._check_in_dry_run(message_id)
        return await self._sender.forward(message_id, forward)

    async def trash(self, message_id: str) -> None:
        """Move a message to the trash; see `MailPort.trash`."""
        try:
            await self._untrashed(message_id)
            await self._call(
                "POST", *MESSAGES, message_id, "move", json={"destinationId": "deleteditems"}
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
        await self._call("GET", *ROOT, "mailFolders", "inbox", params=(("$select", "id"),))

    # -- searching

    async def _search(
        self, query: MailQuery, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Search by `$search`: check and sort results, then read the details of one page."""
        text = filter_query.needs_text_check(query)
        compared = query_matching.needed_attributes(query, text=text)
        reader = MessageReader(self._upstream, await self._scope(query))

        async def keep(messages: Sequence[Message]) -> Sequence[Message]:
            return _matching(messages, query, compared, text=text)

        scan = await scanning.scan(
            reader.search(filter_query.search(query, after), compared),
            after=after,
            limit=query.limit,
            keep=keep,
        )
        return MailSlice(
            emails=await self._records(reader, scan.emails, wanted, compared),
            scanned_to=scan.scanned_to,
            exhausted=scan.exhausted,
            total=scan.counted,
            total_exact=scan.is_complete,
        )

    async def _filter(
        self, query: MailQuery, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Search by `$filter`: Graph orders and counts; its pages are checked one by one."""
        scope = await self._scope(query)
        whole_mailbox = scope.path == ("messages",)
        trash, junk = await self._cache.folders(self._upstream) if whole_mailbox else ((), ())
        hidden_folders = (*trash[:1], *junk[:1])
        mail_filter = filter_query.mail_filter(query, after, hidden_folders=hidden_folders)
        is_selective = mail_filter.is_selective
        compared = query_matching.needed_attributes(query, text=True)
        scanned = frozenset(compared | wanted if is_selective else compared)
        size = scanning.first_page_size(query.limit, after) if is_selective else page_size(scanned)
        reader = MessageReader(self._upstream, scope)

        async def keep(messages: Sequence[Message]) -> Sequence[Message]:
            return _matching(messages, query, compared, text=True)

        pages = reader.pages(
            mail_filter,
            scanned,
            size,
            count=is_selective and after is None and self._cache.may_count,
        )
        scan = await scanning.scan(pages, after=after, limit=query.limit, keep=keep)
        if reader.count_timed_out:
            self._cache.stop_counting()
        total, exact = scan.counted, scan.is_complete
        if not exact and is_selective and reader.counted is not None:
            counts_hidden = len(hidden_folders) < len(trash) + len(junk)
            total = max(total, reader.counted)
            exact = mail_filter.is_exact and after is None and not counts_hidden
        return MailSlice(
            emails=await self._records(reader, scan.emails, wanted, scanned),
            scanned_to=scan.scanned_to,
            exhausted=scan.exhausted,
            total=total,
            total_exact=exact,
        )

    async def _records(
        self,
        reader: MessageReader,
        messages: Sequence[Message],
        wanted: AbstractSet[str],
        available: AbstractSet[str],
    ) -> Sequence[mail_records.Email]:
        """Make records of messages; read them again unless the wanted attributes are available."""
        if not selected_fields.selectable(wanted) <= available:
            messages = await reader.details(messages, wanted)
        return LazyRecords(messages, lambda some: mapping.emails(some, wanted))

    async def _scope(self, query: MailQuery) -> SearchScope:
        folder = query_matching.folder_label(query)
        if folder is not None:
            path = ("mailFolders", _FOLDERS[folder], "messages")
            return SearchScope(path=path, is_visible=lambda _: True)
        trash, junk = await self._cache.folders(self._upstream)
        hidden = {*trash, *junk}
        return SearchScope(
            path=("messages",),
            is_visible=lambda message: (
                not message.is_draft and message.parent_folder_id not in hidden
            ),
        )

    # -- changing

    async def _message(self, message_id: str, params: selected_fields.Params) -> Message:
        _require_valid_id(message_id)
        response = await self._call("GET", *MESSAGES, message_id, params=params)
        message = response.decode(Message)
        if not mapping.have_valid_ids([message]):
            raise Missing
        return message

    async def _check_in_dry_run(self, message_id: str) -> None:
        """In a dry run, check that a message exists; otherwise the first write does."""
        if in_dry_run():
            await self._message(message_id, _STATE)

    async def _untrashed(self, message_id: str) -> Message:
        message = await self._message(message_id, _STATE)
        trash, _ = await self._cache.folders(self._upstream)
        if message.parent_folder_id in trash:
            raise Missing
        return message

    async def _relabel(self, message_id: str, change: MailChange) -> None:
        """Replace the list of categories unless it was changed meanwhile; try twice."""
        for last in (False, True):
            message = await self._message(message_id, _STATE)
            categories = message.categories or ()
            labels = _changed_labels(categories, change)
            if labels == list(categories):
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
        await self._call(
            "PATCH", *MESSAGES, message_id, json=members, headers={**PREFER, **headers}
        )


def _matching(
    messages: Sequence[Message], query: MailQuery, compared: AbstractSet[str], *, text: bool
) -> Sequence[Message]:
    """Return the messages that match; *compared* is the result of `needed_attributes`."""
    if not query_matching.restricts(query, text=text):
        return messages
    emails = zip(messages, mapping.emails(messages, compared), strict=True)
    return [message for message, email in emails if query_matching.matches(email, query, text=text)]


def _changed_labels(current: Sequence[str], change: MailChange) -> list[str]:
    removed = set(map(search_text.fold_label, change.remove_labels))
    labels = [label for label in current if search_text.fold_label(label) not in removed]
    known = {search_text.fold_label(label) for label in labels}
    for name in change.add_labels:
        if search_text.fold_label(name) not in known:
            known.add(search_text.fold_label(name))
            labels.append(name)
    return labels


def _require_valid_id(object_id: str) -> None:
    if not is_provider_b_id(object_id):
        raise Missing
