"""Endpoints of mail folders: list, read, create. See docs/spec/upstream/outlook-mail.md#folders."""

from typing import Any

from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_mail.folders import ROOT, Folder, FolderExists, folder_id
from sandbox.provider_b.outlook_mail.mailbox import READ_BASIC, WRITE, Mailbox
from sandbox.provider_b.responses import GraphError, ok

_SHAPE = Shape(
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

    def list(self, call: UserCall, folder: str = ROOT) -> Response:
        """``GET /mailFolders`` and ``…/childFolders``."""
        call.require_scope(*READ_BASIC)
        options = query_options.parse(call.request.query, _SHAPE, expandable={}, max_top=1000)
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
        options = query_options.parse(call.request.query, _SHAPE, expandable={})
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
            raise GraphError(
                409, "ErrorFolderExists", "A folder with the specified name already exists."
            ) from None
        context = {"@odata.context": call.odata_context("mailFolders/$entity")}
        return ok({**context, **self._record(created)}, 201)

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
