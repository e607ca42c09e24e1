"""The mail port of one Gmail account."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from providers.connectors.provider_a import batch
from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import MESSAGES, ROOT
from providers.connectors.provider_a.gmail import attachments, mapping, requested_fields
from providers.connectors.provider_a.gmail.changes import GmailChanges
from providers.connectors.provider_a.gmail.reading import (
    WIDE_PAGE,
    MessageReader,
    SearchPlan,
    decode_message,
)
from providers.connectors.provider_a.gmail.response_types import Message
from providers.connectors.provider_a.gmail.search_query import TextCheck, search_request
from providers.connectors.provider_a.gmail.sending import Sender
from providers.connectors.provider_a.gmail.stored_drafts import GmailDrafts
from providers.failures import Broken, Impossible, Missing, ProviderFailure
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.mail import change_previews, delivery, query_matching, scanning
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
from providers.ports.opening import Opening
from providers.records import mail as mail_records
from providers.turns import in_turns
from providers.write_previews import Change, current_preview

_THREADS_WITH_BODIES = 5  # per call, so that a response is not too large
_STATE = (("format", "minimal"), ("fields", "id,threadId,labelIds,internalDate"))
_NOTHING = MailSlice(emails=(), scanned_to=None, exhausted=True, total=0, total_exact=True)


def open_port(opening: Opening) -> "GmailMailbox":
    """Open the account of a connection; makes no call."""
    return GmailMailbox(opening.info, opening.upstream(), opening.memory(AccountCache))


class GmailMailbox:
    """Mailbox of one connection; implements `providers.ports.mail.MailPort`."""

    def __init__(self, info: ConnectionInfo, upstream: Upstream, cache: AccountCache) -> None:
        """*cache* belongs to the caller, one per connection, and outlives this object."""
        cache.address = cache.address or info.account_email
        self._upstream = upstream
        self._cache = cache
        self._sender = Sender(upstream, cache)
        self.drafts = GmailDrafts(upstream)
        self.changes = GmailChanges(upstream)

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, projection: AbstractSet[str]
    ) -> MailSlice:
        label_ids = await self._label_ids(query)
        if label_ids is None or not query_matching.can_match(query):
            return _NOTHING
        request = search_request(query, after)
        check_text = request.text_check is not TextCheck.UPSTREAM
        compared = query_matching.needed_attributes(query, text=check_text)
        # Other counts include messages that do not match, or that match by hidden fields only.
        counted = request.is_selective and not check_text
        whole_size = scanning.first_page_size(query.limit, after)
        size = whole_size
        if query.may_be_short:
            size = scanning.size_of_whole_calls(whole_size, batch.MAX_PER_CALL)
        plan = SearchPlan(
            request=request,
            label_ids=label_ids,
            folder=query_matching.folder_label(query),
            page_size=size if request.is_selective else WIDE_PAGE,
            count=counted and after is None,
            projection=frozenset(projection if compared <= projection else compared | projection),
        )
        reader = MessageReader(self._upstream, self._cache)
        matches = query_matching.Matcher(query, text=check_text)

        async def keep(messages: Sequence[Message]) -> Sequence[Message]:
            if not query_matching.restricts(query, text=check_text):
                return messages
            emails = zip(messages, await reader.emails(messages, compared), strict=True)
            return [message async for message, email in in_turns(emails) if matches(email)]

        scan = await scanning.scan(
            reader.pages(plan),
            after=after,
            limit=query.limit,
            enough=query.limit - (whole_size - size),
            keep=keep,
        )
        total, exact = scan.counted, scan.is_complete
        if counted and not exact and reader.counted is not None:
            total, exact = max(total, reader.counted), request.is_exact
        elif counted and not exact:
            total = max(total, reader.estimate)
        return MailSlice(
            emails=tuple(await reader.emails(scan.emails, projection)),
            scanned_to=scan.scanned_to,
            exhausted=scan.exhausted,
            total=total,
            total_exact=exact,
        )

    async def first_page(self, query: MailQuery, *, projection: AbstractSet[str]) -> MailSlice:
        """Read one page of ids, and its messages in one batch."""
        if not query_matching.can_match(query):
            return _NOTHING
        plan = SearchPlan(
            request=search_request(query, None),
            label_ids=(),
            folder=None,
            page_size=batch.MAX_PER_CALL,
            count=False,
            projection=frozenset(projection),
        )
        reader = MessageReader(self._upstream, self._cache)
        page = await anext(reader.pages(plan))
        emails = await reader.emails(page.emails, projection)
        return scanning.slice_of_page(emails, last=page.last)

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> mail_records.Email:
        message = await self._message(message_id, requested_fields.message(frozenset(projection)))
        return (await MessageReader(self._upstream, self._cache).emails([message], projection))[0]

    async def get_many(
        self, message_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Email]:
        reader = MessageReader(self._upstream, self._cache)
        messages = await reader.messages(list(filter(is_provider_a_id, message_ids)), projection)
        return {email.id: email for email in await reader.emails(messages, projection)}

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> mail_records.Thread:
        threads = await self.threads([thread_id], projection=projection)
        if thread_id not in threads:
            raise Missing
        return threads[thread_id]

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Thread]:
        responses = await batch.threads(
            self._upstream,
            list(filter(is_provider_a_id, thread_ids)),
            requested_fields.thread(frozenset(projection)),
            per_call=_THREADS_WITH_BODIES if "body" in projection else batch.MAX_PER_CALL,
        )
        reader = MessageReader(self._upstream, self._cache)
        threads: dict[str, mail_records.Thread] = {}
        for thread_id, response in responses.items():
            messages = [
                message
                for message in response.messages
                if {"DRAFT", "TRASH", "CHAT"}.isdisjoint(message.label_ids)
            ]
            if not mapping.have_valid_ids(messages):
                raise Broken
            if messages:
                messages.sort(key=lambda message: (message.received_ms, message.id))
                threads[thread_id] = mail_records.Thread(
                    id=thread_id,
                    provider=mapping.PROVIDER,
                    messages=tuple(await reader.emails(messages, projection)),
                )
        return threads

    async def attachment(self, message_id: str, attachment_id: str) -> AttachmentFile:
        _require_valid_id(message_id)
        return await attachments.find(
            self._upstream, MessageReader(self._upstream, self._cache), message_id, attachment_id
        )

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        return await self._sender.send(draft)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        _require_valid_id(message_id)
        return await self._sender.reply(message_id, reply)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        _require_valid_id(message_id)
        return await self._sender.forward(message_id, forward)

    async def trash(self, message_id: str) -> None:
        try:
            await self._untrashed(message_id)
            await self._upstream.call("POST", *MESSAGES, message_id, "trash")
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        try:
            message = await self._untrashed(message_id)
            labels = self._cache.labels
            preview = current_preview()
            if preview is not None:
                preview.changes = await self._changes(message, change, preview.hidden)
            add = await labels.ids_to_add(self._upstream, change.add_labels)
            remove = await labels.ids_to_remove(self._upstream, change.remove_labels)
            if change.read is not None:
                unread = ["UNREAD"]
                await self._modify(
                    message_id, [] if change.read else unread, unread if change.read else []
                )
            if add or remove:
                remove = [label_id for label_id in remove if label_id not in add]
                await self._modify(message_id, add, remove)
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure
        return mail_records.SentMessage(email_id=message.id, thread_id=message.thread_id)

    async def _changes(
        self, message: Message, change: MailChange, hidden: AbstractSet[str]
    ) -> tuple[Change, ...]:
        """Return what *change* changes of *message*; labels are not read when they are hidden."""
        changes = change_previews.read_state("UNREAD" not in message.label_ids, change)
        if not (change.add_labels or change.remove_labels):
            return changes
        if "labels" in hidden:
            return (*changes, change_previews.HIDDEN_LABELS)
        names = await self._cache.labels.names_including(self._upstream, message.label_ids)
        added = await self._cache.labels.shown_names(self._upstream, change.add_labels)
        removed = await self._cache.labels.shown_names(self._upstream, change.remove_labels)
        before = mapping.label_names(message.label_ids, names)
        after = [name for name in before if name not in removed]
        after += [name for name in added if name not in after]
        return (*changes, change_previews.labels(before, after))

    async def probe(self) -> None:
        """Make one harmless read."""
        response = await self._upstream.call("GET", *ROOT, "profile")
        response.decode(dict[str, Any])

    async def _label_ids(self, query: MailQuery) -> tuple[str, ...] | None:
        """Return the labels to search for; None when no message can have the query's label."""
        folder = query_matching.folder_label(query)
        if folder is not None:
            return (folder,)
        if not query.label:
            return ()
        label_id = await self._cache.labels.find(self._upstream, query.label)
        return None if label_id in (None, mapping.UNREAD_LABEL) else (label_id,)

    async def _message(self, message_id: str, params: requested_fields.Params) -> Message:
        _require_valid_id(message_id)
        return decode_message(
            await self._upstream.call("GET", *MESSAGES, message_id, params=params)
        )

    async def _untrashed(self, message_id: str) -> Message:
        message = await self._message(message_id, _STATE)
        if "TRASH" in message.label_ids:
            raise Impossible(delivery.IN_TRASH)
        return message

    async def _modify(self, message_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        await self._upstream.call(
            "POST",
            *MESSAGES,
            message_id,
            "modify",
            json={"addLabelIds": list(add), "removeLabelIds": list(remove)},
        )


def _require_valid_id(object_id: str) -> None:
    if not is_provider_a_id(object_id):
        raise Missing
