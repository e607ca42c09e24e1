"""
Table of the documented endpoints, one line each, in the order of the specification.

A row names the document that answers a path. The rest is convention: path and query parameters
fill the variable of the same name, read by its GraphQL type; a JSON body fills `$input`; the
response is the document's root field, aliased `result`. The rows are specified in
docs/spec/email.md#routes, calendar.md#routes, tasks.md#endpoints and collab.md#endpoints.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from policy.vocabulary import Surface

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class RateBucket:
    """
    The rate limits that count a request, by its route (docs/spec/limits.md#rate-limits).

    Attributes:
        windows: The name of the limits: "email", "calendar", "tasks", "collab" or "management".
        mount: Where the surface is mounted: "" for the public address, "/internal" for the
            internal one, which has buckets of its own (docs/spec/collab.md#internal-address).
        costs: How many requests a call counts as, by the names of limits; empty: one of *windows*.
        requests: The number of requests that a call counts as, by the names of limits.
    """

    windows: str
    mount: str = ""
    costs: tuple[tuple[str, int], ...] = ()
    requests: Mapping[str, int] = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", dict(self.costs) or {self.windows: 1})


def _nothing() -> Mapping[str, str]:
    return NOTHING


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """
    One documented call.

    Attributes:
        path: From the root, parameters in braces: "/api/access/email/messages/{emailId}".
        prefix: The start that all paths of the surface share: "/api/access/email".
        document: The file under `operations/`, without its suffix: "email/get_email".
        surface: Decides the shape of errors; None for calls that belong to no surface.
        bucket: The rate limits that count the call.
        status: Of a success; 204 has an empty body.
        result: The type of a success body when errors have its members too
            (docs/spec/errors.md#result-objects-on-error), or None.
        aliases: Further query names of a variable: {"cursor": "pageToken"}.
        required: Query parameters that must be there although their variables are nullable: their
            absence has a code of its own.
        headers: Request headers that fill a variable: {"if-match": "ifMatch"}.
        codes: Error codes of the graph that this call spells differently.
        body: The reader of the request body, by its name in `readers.READERS`.
        streams: Whether a success is the bytes of the file that the operation finds.
        summary: A description of the call, where that of its GraphQL field does not fit.
    """

    method: str
    path: str
    prefix: str
    document: str
    surface: Surface | None
    bucket: RateBucket
    status: int = 200
    result: str | None = None
    aliases: Mapping[str, str] = msgspec.field(default_factory=_nothing)
    required: tuple[str, ...] = ()
    headers: Mapping[str, str] = msgspec.field(default_factory=_nothing)
    codes: Mapping[str, str] = msgspec.field(default_factory=_nothing)
    body: str = "json"
    streams: bool = False
    summary: str | None = None

    def mounted(self, mount: str) -> "Endpoint":
        """Return the same call under *mount* ("/internal"), with a rate bucket of its own."""
        return replace(
            self,
            path=mount + self.path,
            prefix=mount + self.prefix,
            bucket=dataclasses.replace(self.bucket, mount=mount),
        )


class Columns(TypedDict, total=False):
    """The optional columns of a row."""

    status: int
    result: str
    aliases: Mapping[str, str]
    required: tuple[str, ...]
    headers: Mapping[str, str]
    codes: Mapping[str, str]
    body: str
    streams: bool
    summary: str


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """The columns that all rows of one surface share."""

    path: str
    folder: str
    surface: Surface | None
    bucket: RateBucket

    def get(self, path: str, document: str, **columns: Unpack[Columns]) -> Endpoint:
        """Make a row that reads; the router answers HEAD with it too."""
        return self._row("GET", path, document, columns)

    def post(self, path: str, document: str, **columns: Unpack[Columns]) -> Endpoint:
        """Make a row that creates or acts; it accepts an `Idempotency-Key`."""
        return self._row("POST", path, document, columns)

    def patch(self, path: str, document: str, **columns: Unpack[Columns]) -> Endpoint:
        """Make a row that changes."""
        return self._row("PATCH", path, document, columns)

    def delete(self, path: str, document: str, **columns: Unpack[Columns]) -> Endpoint:
        """Make a row that deletes; its status is 204 unless it has a result object."""
        defaults = Columns(status=204) if "result" not in columns else Columns()
        return self._row("DELETE", path, document, Columns(**{**defaults, **columns}))

    def _row(self, method: str, path: str, document: str, columns: Columns) -> Endpoint:
        return Endpoint(
            method=method,
            path=self.path + path,
            prefix=self.path,
            document=f"{self.folder}/{document}",
            surface=self.surface,
            bucket=self.bucket,
            **columns,
        )


access = Prefix(
    path="/api/access", folder="access", surface=None, bucket=RateBucket(windows="management")
)
email = Prefix(
    path="/api/access/email",
    folder="email",
    surface=Surface.EMAIL,
    bucket=RateBucket(windows="email"),
)
changes = Prefix(
    path="/api/access/changes",
    folder="access",
    surface=None,
    bucket=RateBucket(
        windows="email",
        costs=tuple((window, 1) for window in ("email", "calendar", "tasks", "collab")),
    ),
)
subscriptions = replace(changes, path="/api/access/subscriptions")
people = Prefix(
    path="/api/access/people",
    folder="people",
    surface=Surface.EMAIL,
    bucket=RateBucket(windows="email"),
)
calendar = Prefix(
    path="/api/access/calendar",
    folder="calendar",
    surface=Surface.CALENDAR,
    bucket=RateBucket(windows="calendar"),
)
tasks = Prefix(
    path="/api/access/tasks",
    folder="tasks",
    surface=Surface.TASKS,
    bucket=RateBucket(windows="tasks"),
)
_ITEM_ALIASES: Mapping[str, str] = MappingProxyType({"cursor": "pageToken", "query": "q"})
collab = Prefix(
    path="/api/access/collab",
    folder="collab",
    surface=Surface.COLLAB,
    bucket=RateBucket(windows="collab"),
)
_ATTACHMENT = "/messages/{emailId}/attachments/{attachmentId}"
_DRAFT = "/drafts/{draftId}"
_ACTION = "EmailActionResult"
_DRIVE = "DriveOperationResult"
_IF_MATCH = MappingProxyType({"if-match": "ifMatch"})
_PERMISSION = "/files/{fileId}/permissions/{permissionId}"
_ITEMS = "/sites/{siteId}/lists/{listId}/items"

ENDPOINTS: tuple[Endpoint, ...] = (
    email.get("/messages", "list_emails"),
    email.get("/messages/{emailId}", "get_email"),
    email.get(
        _ATTACHMENT,
        "get_email_attachment",
        streams=True,
        summary="Download one attachment of a message.",
    ),
    email.get(_ATTACHMENT + "/text", "get_email_attachment_text"),
    email.get("/threads/{threadId}", "get_email_thread"),
    email.post("/attachments", "upload_email_attachment", status=201, body="upload"),
    email.delete("/attachments/{handle}", "delete_uploaded_attachment"),
    email.post("/messages/send", "send_email", result=_ACTION, body="mail"),
    email.post("/messages/{emailId}/reply", "reply_to_email", result=_ACTION, body="mail"),
    email.post("/messages/{emailId}/forward", "forward_email", result=_ACTION, body="mail"),
    email.delete("/messages/{emailId}", "delete_email"),
    email.patch("/messages/{emailId}", "modify_email", result=_ACTION),
    email.get("/drafts", "list_drafts"),
    email.post("/drafts", "create_draft", status=202, result=_ACTION, body="mail"),
    email.get(_DRAFT, "get_draft"),
    email.patch(_DRAFT, "update_draft", result="DraftActionResult", body="mail", headers=_IF_MATCH),
    email.delete(_DRAFT, "delete_draft", headers=_IF_MATCH),
    email.post(_DRAFT + "/send", "send_draft", result=_ACTION, headers=_IF_MATCH),
    people.get("", "list_people"),
    calendar.get("/events", "list_events"),
    calendar.get("/events/by-contact", "list_events_by_contact"),  # before {eventId} takes it
    calendar.get("/events/{eventId}", "get_event"),
    calendar.get("/freebusy", "get_free_busy"),
    calendar.get("/calendars", "list_calendars"),
    tasks.get("/providers", "list_task_providers"),
    tasks.get("/boards", "list_task_boards"),
    tasks.get("/boards/{boardId}", "get_task_board"),
    tasks.get("/boards/{boardId}/items", "list_task_items", aliases=_ITEM_ALIASES),
    tasks.get("/items/{itemId}", "get_task_item"),
    tasks.post("/boards/{boardId}/items", "create_task_item", status=201, result="TaskItemResult"),
    tasks.patch("/items/{itemId}", "update_task_item", result="TaskItemResult"),
    tasks.delete("/items/{itemId}", "delete_task_item", result="TaskOperationResult"),
    tasks.post(
        "/items/{itemId}/comments", "add_task_comment", status=201, result="TaskCommentResult"
    ),
    collab.get("/files", "list_files"),
    collab.get("/files/{fileId}", "get_file"),
    collab.get("/files/{fileId}/download", "get_file_link", result="DriveFileLinkResponse"),
    collab.get("/files/{fileId}/text", "get_file_text"),
    collab.get("/files/{fileId}/permissions", "list_file_permissions"),
    collab.post("/files/upload", "upload_file", result=_DRIVE, body="upload"),
    collab.post("/folders", "create_folder", result=_DRIVE),
    collab.patch("/files/{fileId}/rename", "rename_file", result=_DRIVE, headers=_IF_MATCH),
    collab.patch("/files/{fileId}/move", "move_file", result=_DRIVE, headers=_IF_MATCH),
    collab.delete("/files/{fileId}", "delete_file", status=204, result=_DRIVE, headers=_IF_MATCH),
    collab.post("/files/{fileId}/share", "share_file", result=_DRIVE),
    collab.patch(_PERMISSION, "update_file_permission", result=_DRIVE),
    collab.delete(_PERMISSION, "delete_file_permission", status=204, result=_DRIVE),
    collab.get("/sites", "list_sites"),
    collab.get("/sites/{siteId}", "get_site"),
    collab.get("/sites/{siteId}/drives", "list_drives"),
    collab.get("/sites/{siteId}/lists", "list_collab_lists"),
    collab.get("/sites/{siteId}/lists/{listId}", "get_collab_list"),
    collab.get(_ITEMS, "list_collab_list_items"),
    collab.get(_ITEMS + "/{itemId}", "get_collab_list_item"),
    collab.post(_ITEMS, "create_list_item", status=201),
    collab.patch(_ITEMS + "/{itemId}", "update_list_item", headers=_IF_MATCH),
    collab.delete(_ITEMS + "/{itemId}", "delete_list_item", headers=_IF_MATCH),
    collab.get("/sensitivity-labels", "list_sensitivity_labels"),
    collab.get(
        "/files/{fileId}/sensitivity-label",
        "get_file_sensitivity_label",
        result="ItemSensitivityLabelResponse",
    ),
    collab.get("/search", "search_content", aliases={"size": "limit"}, required=("q",)),
    access.get("/token", "get_access_token"),
    access.post("/token/children", "create_child_token", status=201),
    access.get("/token/children", "list_child_tokens"),
    access.delete("/token/children/{childId}", "revoke_child_token"),
    access.get("/writes/{id}", "get_pending_write"),
    changes.get("", "list_changes"),
    subscriptions.post("", "create_change_subscription", status=201),
    access.get("/subscriptions", "list_change_subscriptions"),
    access.delete("/subscriptions/{id}", "delete_change_subscription"),
    access.post("/subscriptions/{id}/rotate", "rotate_change_subscription"),
)
