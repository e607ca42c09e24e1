"""The mail port of one Outlook account."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from typing import Any

from providers import search_text
from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER, AccountCache
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import filter_query, mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.attachments import find_attachment
from providers.connectors.provider_b.outlook_mail.changes import OutlookChanges
from providers.connectors.provider_b.outlook_mail.reading import (
    FilteredPages,
    MessageReader,
    SearchPages,
    SearchScope,
    filter_plan,
    plan_of_all,
    search_listings,
)
from providers.connectors.provider_b.outlook_mail.response_types import Message, decode_message
from providers.connectors.provider_b.outlook_mail.sending import Sender
from providers.connectors.provider_b.outlook_mail.stored_drafts import OutlookDrafts
from providers.dry_run import in_dry_run
from providers.failures import NOT_SHARED, Impossible, Inaccessible, Missing, ProviderFailure, Stale
from providers.http.client import Response
from providers.ids import is_provider_b_id
from providers.mail import change_previews, delivery, query_matching, scanning
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
from providers.turns import in_turns, turn_after_decoding
from providers.write_previews import Change, current_preview, describe

MAX_IN_THREAD = 1000
_FOLDERS = {"TRASH": "deleteditems", "SPAM": "junkemail", "DRAFT": "drafts"}
_STATE = (("$select", "id,conversationId,parentFolderId,categories,isRead"),)
_NOTHING = MailSlice(emails=(), scanned_to=None, exhausted=True, total=0, total_exact=True)


def open_port(opening: Opening) -> "OutlookMailbox":
    """Open the account of a connection; makes no call."""
    user = GraphUser.of(opening.info, opening.upstream())
    return OutlookMailbox(user, opening.memory(AccountCache), opening.info.account_email)


class OutlookMailbox:
    """Mailbox of one connection; implements `providers.ports.mail.MailPort`."""

    def __init__(self, user: GraphUser, cache: AccountCache, address: str) -> None:
        """*cache* belongs to the caller, one per connection, and outlives this object."""
        cache.address = cache.address or address
        self._user = user
        self._call = partial(user.call, headers=PREFER)
        self._cache = cache
        self._sender = Sender(user, cache)
        self.drafts = OutlookDrafts(user)
        self.changes = OutlookChanges(user)

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, projection: AbstractSet[str]
    ) -> MailSlice:
        is_unrestricted = query_matching.is_unrestricted(query)
        if not is_unrestricted:
            if not query_matching.can_match(query):
                return _NOTHING
            if filter_query.needs_search_index(query):
                return await self._search(query, after, projection)
        # By `$filter`: Graph orders and counts; its pages are checked one by one.
        scope = await self._scope(query)
        if is_unrestricted and after is None:
            plan = plan_of_all(query.limit, frozenset(projection), scope.hidden_folders)
        else:
            plan = filter_plan(query, after, frozenset(projection), scope.hidden_folders)
        counts = plan.filter.is_selective and after is None and self._cache.may_count
        reader = MessageReader(self._user, scope)

        keep = _keep(query, plan.compared, text=True) if plan.restricts else None

        scan = await scanning.scan(
            FilteredPages(reader, plan, counts), after=after, limit=query.limit, keep=keep
        )
        if reader.count_timed_out:
            self._cache.stop_counting()
        total, exact = scan.counted, scan.is_complete
        if not exact and reader.counted is not None and plan.filter.is_selective:
            total = max(total, reader.counted)
            exact = plan.filter.is_exact and after is None and not scope.hides_more
        messages: Sequence[Message] = scan.emails
        if not plan.suffices:
            messages = await reader.details(messages, projection)
        return MailSlice(
            emails=tuple(await mapping.emails_in_turns(messages, projection)),
            scanned_to=scan.scanned_to,
            exhausted=scan.exhausted,
            total=total,
            total_exact=exact,
        )

    async def first_page(self, query: MailQuery, *, projection: AbstractSet[str]) -> MailSlice:
        """Read one page of a `$search`."""
        if not query_matching.can_match(query):
            return _NOTHING
        reader = MessageReader(self._user, await self._scope(query))
        listing = await anext(search_listings(reader, filter_query.search(query, None), projection))
        messages = reader.visible(listing.value)
        return scanning.slice_of_page(
            await mapping.emails_in_turns(messages, projection), last=listing.next_link is None
        )

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> mail_records.Email:
        response = await self._get(message_id, selected_fields.message(frozenset(projection)))
        message = _message_in(response)
        await turn_after_decoding(response.body)
        return mapping.email(message, projection)

    async def get_many(
        self, message_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Email]:
        messages = await batch.messages(
            self._user,
            list(filter(is_provider_b_id, message_ids)),
            selected_fields.message(frozenset(projection)),
        )
        valid = {
            name: message for name, message in messages.items() if mapping.have_valid_ids([message])
        }
        emails = await mapping.emails_in_turns(list(valid.values()), projection)
        return dict(zip(valid, emails, strict=True))

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> mail_records.Thread:
        _require_valid_id(thread_id)
        reader = MessageReader(self._user, await self._conversation_scope())
        emails = await reader.conversation(thread_id, projection, max_messages=MAX_IN_THREAD)
        if not emails:
            raise Missing
        return _thread(thread_id, emails)

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Thread]:
        valid = list(filter(is_provider_b_id, thread_ids))
        if not valid:
            return {}
        reader = MessageReader(self._user, await self._conversation_scope())
        conversations = await reader.conversations(valid, projection, max_messages=MAX_IN_THREAD)
        return {
            thread_id: _thread(thread_id, emails)
            for thread_id, emails in conversations.items()
            if emails
        }

    async def attachment(self, message_id: str, attachment_id: str) -> AttachmentFile:
        _require_valid_id(message_id)
        _require_valid_id(attachment_id)
        return await find_attachment(self._user, message_id, attachment_id)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        return await self._sender.send(draft)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        _require_valid_id(message_id)
        await self._check_in_dry_run(message_id)
        return await self._sender.reply(message_id, reply)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        _require_valid_id(message_id)
        await self._check_in_dry_run(message_id)
        return await self._sender.forward(message_id, forward)

    async def trash(self, message_id: str) -> None:
        try:
            await self._untrashed(message_id)
            await self._call(
                "POST",
                *self._user.messages,
                message_id,
                "move",
                json={"destinationId": "deleteditems"},
            )
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        try:
            message = await self._untrashed(message_id)
            describe(changes=_changes(message, change))
            if change.read is not None:
                await self._patch(message_id, {"isRead": change.read})
            if change.add_labels or change.remove_labels:
                await self._relabel(message_id, change)
        except ProviderFailure as failure:
            raise delivery.failure_of_change(failure) from failure
        return mail_records.SentMessage(email_id=message.id, thread_id=message.conversation_id)

    async def probe(self) -> None:
        """Make one harmless read."""
        inbox = (*self._user.root, "mailFolders", "inbox")
        try:
            response = await self._call("GET", *inbox, params=(("$select", "id"),))
        except Missing as failure:
            if not self._user.shared:
                raise
            raise Inaccessible(NOT_SHARED, status=404) from failure
        response.decode(dict[str, Any])

    # -- searching

    async def _search(
        self, query: MailQuery, after: MailPosition | None, projection: AbstractSet[str]
    ) -> MailSlice:
        """
        Search by `$search`, and check and sort the results.

        Attributes that are large, or that a search cannot expand, are read of one page afterwards.
        """
        text = filter_query.needs_text_check(query)
        compared = query_matching.needed_attributes(query, text=text)
        scanned = (
            compared if selected_fields.LARGE & projection else frozenset(projection | compared)
        )
        reader = MessageReader(self._user, await self._scope(query))

        scan = await scanning.scan(
            SearchPages(reader, filter_query.search(query, after), scanned),
            after=after,
            limit=query.limit,
            keep=_keep(query, compared, text=text),
        )
        messages: Sequence[Message] = scan.emails
        if not selected_fields.selectable(projection) <= scanned:
            messages = await reader.details(messages, projection)
        return MailSlice(
            emails=tuple(await mapping.emails_in_turns(messages, projection)),
            scanned_to=scan.scanned_to,
            exhausted=scan.exhausted,
            total=scan.counted,
            total_exact=scan.is_complete,
        )

    async def _scope(self, query: MailQuery) -> SearchScope:
        folder = query_matching.folder_label(query) if query.label else None
        if folder is not None:
            return SearchScope(path=("mailFolders", _FOLDERS[folder], "messages"))
        if not self._cache.has_folders:
            await self._cache.read_folders(self._user)
        return _scope_without(self._cache.trash, self._cache.junk)

    async def _conversation_scope(self) -> SearchScope:
        return _scope_without(await self._trash(), ())

    async def _trash(self) -> tuple[str, ...]:
        if not self._cache.has_folders:
            await self._cache.read_folders(self._user)
        return self._cache.trash

    # -- changing

    def _get(self, message_id: str, params: selected_fields.Params) -> Awaitable[Response]:
        _require_valid_id(message_id)
        return self._call("GET", *self._user.messages, message_id, params=params)

    async def _message(self, message_id: str, params: selected_fields.Params) -> Message:
        return _message_in(await self._get(message_id, params))

    async def _check_in_dry_run(self, message_id: str) -> None:
        """In a dry run or preview, check that a message exists; otherwise the first write does."""
        if in_dry_run() or current_preview() is not None:
            await self._message(message_id, _STATE)

    async def _untrashed(self, message_id: str) -> Message:
        message = await self._message(message_id, _STATE)
        if message.parent_folder_id in await self._trash():
            raise Impossible(delivery.IN_TRASH)
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
            "PATCH", *self._user.messages, message_id, json=members, headers={**PREFER, **headers}
        )


@lru_cache(maxsize=1024)
def _scope_without(trash: tuple[str, ...], junk: tuple[str, ...]) -> SearchScope:
    """Return the scope of the whole mailbox without drafts and two trees of folders."""
    return SearchScope(
        path=("messages",),
        hidden_folders=(*trash[:1], *junk[:1]),
        unseen_folders=frozenset({*trash, *junk}),
    )


def _thread(thread_id: str, emails: list[mail_records.Email]) -> mail_records.Thread:
    emails.sort(key=lambda email: (-scanning.position(email).rank[0], email.id))
    return mail_records.Thread(id=thread_id, provider=mapping.PROVIDER, messages=tuple(emails))


def _keep(
    query: MailQuery, compared: AbstractSet[str], *, text: bool
) -> Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]:
    """Return a filter of messages by *query*; *compared* is the result of `needed_attributes`."""
    restricts = query_matching.restricts(query, text=text)
    matches = query_matching.Matcher(query, text=text)

    async def keep(messages: Sequence[Message]) -> Sequence[Message]:
        if not restricts:
            return messages
        emails = zip(messages, await mapping.emails_in_turns(messages, compared), strict=True)
        return [message async for message, email in in_turns(emails) if matches(email)]

    return keep


def _changed_labels(current: Sequence[str], change: MailChange) -> list[str]:
    removed = set(map(search_text.fold_label, change.remove_labels))
    labels = [label for label in current if search_text.fold_label(label) not in removed]
    known = {search_text.fold_label(label) for label in labels}
    for name in change.add_labels:
        if search_text.fold_label(name) not in known:
            known.add(search_text.fold_label(name))
            labels.append(name)
    return labels


def _changes(message: Message, change: MailChange) -> tuple[Change, ...]:
    """Return what *change* changes of *message*."""
    changes = change_previews.read_state(bool(message.is_read), change)
    if not (change.add_labels or change.remove_labels):
        return changes
    before = message.categories or ()
    return (*changes, change_previews.labels(before, _changed_labels(before, change)))


def _message_in(response: Response) -> Message:
    message = decode_message(response)
    if not mapping.has_valid_ids(message):
        raise Missing
    return message


def _require_valid_id(object_id: str) -> None:
    if not is_provider_b_id(object_id):
        raise Missing
