"""One call of each of the writes, on a `whole_world.WholeWorld`."""

import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx
from whole_world import WholeWorld

from gateway.http.graphql_call import mutation_rows
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS

EMAIL, TASKS, COLLAB = (f"/api/access/{surface}" for surface in ("email", "tasks", "collab"))
MESSAGE = f"{EMAIL}/messages/{{emailId}}"
DRAFT = f"{EMAIL}/drafts/{{draftId}}"
ITEM, FILE = f"{TASKS}/items/{{itemId}}", f"{COLLAB}/files/{{fileId}}"
ROWS = f"{COLLAB}/sites/{{siteId}}/lists/{{listId}}/items"
PERMISSION = f"{FILE}/permissions/{{permissionId}}"
BO = [{"email": "bo@work.example"}]
SHARE = {"type": "user", "role": "reader", "emailAddress": "bo@work.example"}
UPLOAD = {"params": {"folderId": "{folderId}", "fileName": "new.txt"}, "content": b"bytes"}

# Mutation -> method, path and body; those last that remove what others need.
WRITES: dict[str, tuple[str, str, Any]] = {
    "sendEmail": ("POST", f"{EMAIL}/messages/send", {"to": BO, "subject": "s", "body": "b"}),
    "replyToEmail": ("POST", f"{MESSAGE}/reply", {"body": "b", "replyAll": True}),
    "forwardEmail": ("POST", f"{MESSAGE}/forward", {"to": BO}),
    "modifyEmail": ("PATCH", MESSAGE, {"markAsRead": True, "addLabels": ["New"]}),
    "createDraft": ("POST", f"{EMAIL}/drafts", {"to": BO, "subject": "s", "body": "b"}),
    "updateDraft": ("PATCH", DRAFT, {"subject": "s", "body": "b"}),
    "createTaskItem": ("POST", f"{TASKS}/boards/{{boardId}}/items", {"name": "New"}),
    "updateTaskItem": ("PATCH", ITEM, {"fields": {"note": "x"}}),
    "addTaskComment": ("POST", f"{ITEM}/comments", {"body": "b"}),
    "uploadFile": ("POST", f"{COLLAB}/files/upload", UPLOAD),
    "createFolder": ("POST", f"{COLLAB}/folders", {"name": "New", "parentFolderId": "{folderId}"}),
    "renameFile": ("PATCH", f"{FILE}/rename", {"newName": "other.pdf"}),
    "moveFile": ("PATCH", f"{FILE}/move", {"destinationFolderId": "{folderId}"}),
    "shareFile": ("POST", f"{FILE}/share", SHARE),
    "updateFilePermission": ("PATCH", PERMISSION, {"role": "writer"}),
    "deleteFilePermission": ("DELETE", PERMISSION, None),
    "createListItem": ("POST", ROWS, {"fields": {"Title": "B"}}),
    "updateListItem": ("PATCH", f"{ROWS}/{{itemId}}", {"fields": {"Length": 9}}),
    "deleteListItem": ("DELETE", f"{ROWS}/{{itemId}}", None),
    "deleteFile": ("DELETE", FILE, None),
    "deleteTaskItem": ("DELETE", ITEM, None),
    "sendDraft": ("POST", f"{DRAFT}/send", None),
    "deleteDraft": ("DELETE", DRAFT, None),
    "deleteEmail": ("DELETE", MESSAGE, None),
}
_READING_POSTS = (
    "$batch",
    "/batch/gmail/v1",
    "/batch/calendar/v3",
    "/freeBusy",
    "/search/query",
    "/token",
    "/extractSensitivityLabels",
)


def filled(whole: WholeWorld, value: Any) -> Any:
    """Fill in the ids that *value* names in braces."""
    if isinstance(value, str):
        return value.format(**whole.parameters)
    if isinstance(value, dict):
        return {name: filled(whole, member) for name, member in value.items()}
    return value


def call(whole: WholeWorld, name: str, headers: dict[str, str]) -> httpx.Response:
    """Call a write by REST."""
    method, path, body = WRITES[name]
    content = filled(whole, body)
    if content is not None and "params" not in content:
        content = {"json": content}
    response, _ = whole.call(method, whole.url(path), headers=headers, **(content or {}))
    return response


def document_of(
    whole: WholeWorld,
    name: str,
    write: tuple[str, str, Any] | None = None,
    ids: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """
    Return the document of a write's REST row and its variables.

    *write* is that of `WRITES`, if it is not the one of this *name*; *ids* replace those of the
    world in its path.
    """
    _, path, body = write or WRITES[name]
    url = whole.url(path, **ids).split("/")
    variables: dict[str, Any] = {
        part[1:-1]: url[index] for index, part in enumerate(path.split("/")) if part.startswith("{")
    }
    content = filled(whole, body)
    if content is not None and "params" in content:
        variables |= {**content["params"], "input": base64.b64encode(content["content"]).decode()}
    elif content is not None:
        variables["input"] = content
    return {"query": document(mutation_rows(ENDPOINTS)[name].document), "variables": variables}


def upstream_writes(whole: WholeWorld) -> list[dict[str, Any]]:
    """Return the logged calls that may have changed something upstream."""
    logged = [call for wire in whole.world.sandbox.upstreams.values() for call in wire.calls]
    return [
        call
        for call in logged
        if call["method"] not in {"GET", "HEAD"}
        and not call["path"].endswith(_READING_POSTS)
        and not call.get("document", "mutation").lstrip().startswith("query")
    ]
