"""Endpoints that read messages, threads, attachments and the profile of Gmail."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import StoredMail
from sandbox.provider_a.errors import GoogleError, NotFound, require_scope, scope_names
from sandbox.provider_a.gmail import search_index, search_query
from sandbox.provider_a.gmail.labels import label_ids, normalize_name
from sandbox.provider_a.gmail.messages import FORMATS, MessageViews
from sandbox.provider_a.gmail.paging import cut_page
from sandbox.provider_a.gmail.search_index import Candidate
from sandbox.state import SandboxState

READ = ("gmail.readonly", "gmail.modify", "gmail.metadata")
BODY = ("gmail.readonly", "gmail.modify")


class ReadEndpoints:
    """The endpoints; each returns JSON content."""

    def __init__(self, state: SandboxState, messages: MessageViews) -> None:
        self._state = state
        self._mails = state.mails
        self._messages = messages
        self._candidates: dict[int, Candidate] = {}
        self._indexes: dict[bytes, search_index.IndexedMessage] = {}
        self._label_ids: dict[int, tuple[StoredMail, frozenset[str]]] = {}

    def list_messages(self, request: Request) -> Any:
        require_scope(request.grant, *READ)
        matching_mails = self.matching(request)
        page, token, total = cut_page(request, matching_mails)
        content: dict[str, Any] = {}
        if page:
            content["messages"] = [{"id": mail.id, "threadId": mail.thread_id} for mail in page]
        if token:
            content["nextPageToken"] = token
        return {**content, "resultSizeEstimate": total}

    def get_message(self, request: Request, message: str) -> Any:
        require_scope(request.grant, *READ)
        form = self._format(request, FORMATS)
        return self._messages.write(self.existing(message), form, request.every("metadataHeaders"))

    def get_attachment(self, request: Request, message: str, attachment: str) -> Any:
        require_scope(request.grant, *BODY)
        content = self._messages.attachment(self.existing(message), attachment)
        if content is None:
            raise GoogleError(400, "Invalid attachment token", "invalidArgument")
        return content

    def list_threads(self, request: Request) -> Any:
        require_scope(request.grant, *READ)
        seen: dict[str, StoredMail] = {}

        def newest() -> Iterator[StoredMail]:
            for mail in self.matching(request):
                if mail.thread_id not in seen:
                    seen[mail.thread_id] = mail
                    yield self._mails.thread(PROVIDER_A, mail.thread_id)[-1]

        page, token, total = cut_page(request, newest())
        content: dict[str, Any] = {}
        if page:
            content["threads"] = [
                {
                    "id": mail.thread_id,
                    "snippet": self._messages.snippet(mail),
                    "historyId": str(mail.change),
                }
                for mail in page
            ]
        if token:
            content["nextPageToken"] = token
        return {**content, "resultSizeEstimate": total}

    def get_thread(self, request: Request, thread: str) -> Any:
        require_scope(request.grant, *READ)
        form = self._format(request, FORMATS[:3])
        mails = self.existing_thread(thread)
        headers = request.every("metadataHeaders")
        return {
            "id": thread,
            "historyId": str(max(mail.change for mail in mails)),
            "messages": [self._messages.write(mail, form, headers) for mail in mails],
        }

    def profile(self, request: Request) -> Any:
        require_scope(request.grant, *READ, "gmail.compose")
        return {
            "emailAddress": self._mails.account(PROVIDER_A).email,
            "messagesTotal": len(self._mails.all(PROVIDER_A)),
            "threadsTotal": len(self._mails.threads(PROVIDER_A)),
            "historyId": str(self._mails.last_change()),
        }

    def send_as(self, request: Request) -> Any:
        require_scope(request.grant, "gmail.readonly", "gmail.modify", "gmail.settings.basic")
        account = self._mails.account(PROVIDER_A)
        primary = {"sendAsEmail": account.email, "displayName": account.name, "isPrimary": True}
        aliases = [
            {"sendAsEmail": alias, "verificationStatus": "accepted", "treatAsAlias": True}
            for alias in account.aliases
        ]
        return {"sendAs": [primary, *aliases]}

    def existing(self, message: str) -> StoredMail:
        """
        Return a message by its id.

        Raises:
            GoogleError: 400 for a malformed id, 404 for an unknown one.
        """
        mail = self._mails.find(PROVIDER_A, message)
        if mail is None or mail.id != message:  # the first id of a draft that was edited
            raise _unknown_id(message)
        return mail

    def existing_thread(self, thread: str) -> tuple[StoredMail, ...]:
        """Return a thread's messages, oldest first; raises as `existing`."""
        mails = self._mails.thread(PROVIDER_A, thread)
        if not mails:
            raise _unknown_id(thread)
        return mails

    def matching(self, request: Request) -> Iterator[StoredMail]:
        """Return the messages that match the list parameters, newest first."""
        text = request.first("q")
        names = scope_names(request.grant)
        if text and "gmail.metadata" in names and not names & {*BODY, "mail.google.com"}:
            raise GoogleError(
                403, "Metadata scope does not support 'q' parameter", "insufficientPermissions"
            )
        query = search_query.parse(text, now=self._state.clock())
        wanted = frozenset(request.every("labelIds"))
        everything = query.reaches or request.first("includeSpamTrash").lower() in {"true", "1"}
        everything = everything or bool(wanted & {"TRASH", "SPAM"})
        # Parsed here rather than in the generator, so that errors are raised by this call.
        return self._filtered(query if text else None, wanted, everything=everything)

    def _filtered(
        self, query: search_query.Query | None, wanted: frozenset[str], *, everything: bool
    ) -> Iterator[StoredMail]:
        for mail in self._mails.all(PROVIDER_A):
            if not everything and mail.folder in {"trash", "spam"}:
                continue
            if wanted and not wanted <= self._labels(mail):
                continue
            if query is None or query.test(self._candidate(mail)):
                yield mail

    def _labels(self, mail: StoredMail) -> frozenset[str]:
        cached = self._label_ids.get(mail.seq)
        if cached is None or cached[0] is not mail:
            cached = mail, frozenset(label_ids(mail, self._mails))
            self._label_ids[mail.seq] = cached
        return cached[1]

    def _candidate(self, mail: StoredMail) -> Candidate:
        cached = self._candidates.get(mail.seq)
        if cached is not None and cached.mail is mail:
            return cached
        index = self._indexes.get(mail.raw)
        if index is None:
            index = search_index.index_message(partial(self._state.trees.of, mail))
            self._indexes[mail.raw] = index
        labels = {label.lower() for label in self._labels(mail)}
        candidate = Candidate(
            mail=mail, index=index, labels=labels | {normalize_name(name) for name in mail.labels}
        )
        self._candidates[mail.seq] = candidate
        return candidate

    def _format(self, request: Request, allowed: tuple[str, ...]) -> str:
        form = request.first("format", "full").lower()
        if form not in allowed:
            raise GoogleError(400, f"Invalid value at 'format': {form}", "invalidArgument")
        names = scope_names(request.grant)
        if form in {"full", "raw"} and not names & {*BODY, "mail.google.com"}:
            raise GoogleError(
                403,
                f"Metadata scope doesn't allow format {form.upper()}",
                "insufficientPermissions",
            )
        return form


def _unknown_id(name: str) -> GoogleError:
    if re.fullmatch(r"[0-9a-f]{1,16}", name):
        return NotFound()
    return GoogleError(400, "Invalid id value", "invalidArgument")
