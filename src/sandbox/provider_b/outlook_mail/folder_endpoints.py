"""
Endpoints of mail folders: list, read, create, rename, move and delete.

See docs/spec/upstream/outlook-mail.md#folders.
"""

from collections.abc import Sequence
from typing import Any

from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_mail.folders import ROOT, Folder, FolderExists, folder_id
from sandbox.provider_b.outlook_mail.mailbox import READ_BASIC, WRITE, Mailbox
from sandbox.provider_b.responses import GraphError, empty, ok

SHAPE = Shape(
    name="microsoft.graph.mailFolder",
    members={
        "id": Kind.STRING,
        "displayName": Kind.STRING,
        "parentFolderId": Kind.STRING,
        "childFolderCount": Kind.NUMBER,
        "unreadItemCount": Kind.NUMBER,
        "totalItemCount": Kind.NUMBER,
        "isHidden": Kind.BOOLEAN,
    },
    exact=frozenset(("id", "parentFolderId")),
)
_DEFAULT_TOP = 10


class FolderEndpoints:
    """The endpoints of mail folders."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        add = endpoints.routes.add
        add("GET", "/mailFolders", self.list)
        add("POST", "/mailFolders", self.create)
        add("GET", "/mailFolders/{folder}", self.get)
        add("GET", "/mailFolders/{folder}/childFolders", self.list)
        add("POST", "/mailFolders/{folder}/childFolders", self.create)
        add("PATCH", "/mailFolders/{folder}", self.rename)
        add("POST", "/mailFolders/{folder}/move", self.move)
        add("DELETE", "/mailFolders/{folder}", self.delete)
        add("POST", "/mailFolders/{folder}/permanentDelete", self.permanent_delete)

    def list(self, call: UserCall, folder: str = ROOT) -> Response:
        """``GET /mailFolders`` and ``…/childFolders``."""
        call.require_scope(*READ_BASIC)
        options = query_options.parse(call.request.query, SHAPE, expandable={}, max_top=1000)
        children = self._mailbox.folders.below(self._mailbox.folder_key(folder))
        records = query_options.filter_and_sort(
            [self._record(child) for child in children], options
        )
        top = options.top or call.page_size or _DEFAULT_TOP
        start = options.skip or 0
        body: dict[str, Any] = {"@odata.context": call.odata_context("mailFolders")}
        if options.count:
            body["@odata.count"] = len(records)
        body["value"] = [
            query_options.select_members(record, options.select)
            for record in records[start : start + top]
        ]
        if start + top < len(records):
            body["@odata.nextLink"] = query_options.next_link(
                call.url, call.request.query, skip=start + top
            )
        return ok(body)

    def get(self, call: UserCall, folder: str) -> Response:
        """``GET /mailFolders/{id or well-known name}``."""
        call.require_scope(*READ_BASIC)
        options = query_options.parse(call.request.query, SHAPE, expandable={})
        self._mailbox.folder_key(folder)
        stored = self._mailbox.folders.find(folder)
        record = self._record(stored) if stored is not None else {}
        context = {"@odata.context": call.odata_context("mailFolders/$entity")}
        return ok({**context, **query_options.select_members(record, options.select)})

    def create(self, call: UserCall, folder: str = ROOT) -> Response:
        """``POST /mailFolders`` and ``…/childFolders``: 201, or 409 when the name is taken."""
        call.require_scope(*WRITE)
        parent = self._mailbox.folder_key(folder)
        name = call.json().get("displayName")
        if not isinstance(name, str) or not name.strip():
            raise GraphError(400, "ErrorInvalidParameter", "The folder's displayName is missing.")
        try:
            created = self._mailbox.folders.add(name, parent)
        except FolderExists:
            raise _folder_exists() from None
        context = {"@odata.context": call.odata_context("mailFolders/$entity")}
        return ok({**context, **self._record(created)}, 201)

    def rename(self, call: UserCall, folder: str) -> Response:
        """``PATCH /mailFolders/{id}``: another displayName."""
        call.require_scope(*WRITE)
        stored = self._own(folder)
        name = call.json().get("displayName")
        if not isinstance(name, str) or not name.strip():
            raise GraphError(400, "ErrorInvalidParameter", "The folder's displayName is missing.")
        return self._placed(call, stored, name, stored.parent)

    def move(self, call: UserCall, folder: str) -> Response:
        """``POST /mailFolders/{id}/move``: below another folder; it keeps its id."""
        call.require_scope(*WRITE)
        stored = self._own(folder)
        parent = self._mailbox.folder_key(str(call.json().get("destinationId") or ""))
        if parent in self._below(stored.key):
            raise GraphError(400, "ErrorMoveCopyFailed", "The move or copy operation failed.")
        return self._placed(call, stored, stored.name, parent, status=201)

    def delete(self, call: UserCall, folder: str) -> Response:
        """``DELETE /mailFolders/{id}``: moved to Deleted Items, or for good from there."""
        call.require_scope(*WRITE)
        stored = self._own(folder)
        if stored.key in self._below("trash"):
            return self.permanent_delete(call, folder)
        self._mailbox.folders.place(stored, self._free_name(stored.name, "trash"), "trash")
        return empty(204)

    def permanent_delete(self, call: UserCall, folder: str) -> Response:
        """``POST /mailFolders/{id}/permanentDelete``: with all that is in it."""
        call.require_scope(*WRITE)
        keys = self._below(self._own(folder).key)
        mails = self._mailbox.state.mails
        for mail in mails.all(self._mailbox.name):
            if mail.folder in keys:
                mails.delete(self._mailbox.name, mail.id)
        self._mailbox.folders.remove(keys)
        return empty(204)

    def records(self) -> Sequence[dict[str, Any]]:
        """Return every folder as a resource, parents first."""
        return [self._record(folder) for folder in self._mailbox.folders.all()]

    def _own(self, folder: str) -> Folder:
        """Return a folder that a client has made."""
        self._mailbox.folder_key(folder)
        stored = self._mailbox.folders.find(folder)
        if stored is None or not stored.key.startswith("folder:"):
            raise GraphError(
                400, "ErrorDeleteDistinguishedFolder", "Distinguished folders cannot be deleted."
            )
        return stored

    def _below(self, key: str) -> frozenset[str]:
        """Return the keys of a folder and of all below it."""
        children = (self._below(child.key) for child in self._mailbox.folders.below(key))
        return frozenset({key}).union(*children)

    def _free_name(self, name: str, parent: str) -> str:
        taken = {folder.name.casefold() for folder in self._mailbox.folders.below(parent)}
        number = 0
        while (free := f"{name}{number or ''}").casefold() in taken:
            number += 1
        return free

    def _placed(
        self, call: UserCall, folder: Folder, name: str, parent: str, *, status: int = 200
    ) -> Response:
        try:
            placed = self._mailbox.folders.place(folder, name, parent)
        except FolderExists:
            raise _folder_exists() from None
        context = {"@odata.context": call.odata_context("mailFolders/$entity")}
        return ok({**context, **self._record(placed)}, status)

    def _record(self, folder: Folder) -> dict[str, Any]:
        inside = [
            mail
            for mail in self._mailbox.state.mails.all(self._mailbox.name)
            if mail.folder == folder.key
        ]
        return {
            "id": folder.id,
            "displayName": folder.name,
            "parentFolderId": folder_id(folder.parent or ROOT),
            "childFolderCount": len(self._mailbox.folders.below(folder.key)),
            "unreadItemCount": sum(not mail.is_read for mail in inside),
            "totalItemCount": len(inside),
            "isHidden": False,
        }


def _folder_exists() -> GraphError:
    return GraphError(409, "ErrorFolderExists", "A folder with the specified name already exists.")
