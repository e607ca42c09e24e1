"""Context of one call: the parsed request, its responses, and the records within reach."""

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import orjson

from sandbox.http import Request, Response, json_response
from sandbox.projects import errors, opt_fields, rendering
from sandbox.projects.opt_fields import FieldTree
from sandbox.projects.records import Project, Section, Tag, Task, User, Workspace
from sandbox.projects.resources import RecordRef
from sandbox.projects.store import ProjectStore
from sandbox.storage.documents import Document, DocumentTable

MAX_PAGE_SIZE = 100  # records
MAX_UNPAGED = 1_000  # records in a list without `limit`
# Field of a record -> the scope without which it is left out.
FIELD_SCOPES: Mapping[str, str] = MappingProxyType(
    {"team": "teams:read", "section": "project_sections:read"}
)
OFFSET_SECONDS = 3_600.0  # until an offset expires

_RecordT = TypeVar("_RecordT", bound=Document)


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """
    The position after a page of records.

    Attributes:
        after: Id of the last record of the page before.
        seen: Number of records up to that one; used when the record has been deleted.
        call: Digest of the path and the filters; an offset is valid for the same call only.
        since: When the page was requested, in seconds since the epoch.
    """

    after: str
    seen: int
    call: str
    since: float


@dataclass(frozen=True)
class CallContext:
    """The call; *user* is the caller."""

    store: ProjectStore
    user: User
    request: Request

    # Request

    @cached_property
    def requested_fields(self) -> FieldTree | None:
        """The ``opt_fields`` of the query or of the body's options; None without any."""
        text = self.request.first("opt_fields")
        if not text and self.request.method in {"POST", "PUT"}:
            options = self._body.get("options")
            fields = options.get("fields") if isinstance(options, dict) else None
            text = ",".join(map(str, fields)) if isinstance(fields, list) else ""
        return opt_fields.parse(text)

    @cached_property
    def data(self) -> dict[str, Any]:
        """
        The member ``data`` of the body, ``{}`` when it is absent.

        Raises:
            ApiError: The body is not a JSON object, or has members other than data and options.
        """
        stray = sorted(self._body.keys() - {"data", "options"})
        if stray:
            raise errors.bad_request(
                f"Unrecognized request field {stray[0]} . The only allowed keys at the top level"
                " are: data, options."
            )
        data = self._body.get("data", {})
        if not isinstance(data, dict):
            raise errors.bad_request("data: Value is not a JSON object")
        return data

    def list_field(self, name: str) -> list[Any]:
        """
        Return a list of the body's data, empty when it is absent.

        Raises:
            ApiError: The value is not a list.
        """
        values = self.data.get(name)
        if values is None:
            return []
        if not isinstance(values, list):
            raise errors.bad_request(f"{name}: Value is not an array")
        return values

    @cached_property
    def _body(self) -> dict[str, Any]:
        try:
            body = self.request.json()
        except ValueError:
            raise errors.bad_request("Could not parse request data, invalid JSON") from None
        if not isinstance(body, dict):
            raise errors.bad_request("Could not parse request data, invalid JSON")
        return body

    def query_flag(self, name: str) -> bool | None:
        """Return a boolean of the query, None when it is absent."""
        return {"true": True, "false": False}.get(self.request.first(name).lower())

    # Responses

    def record_response(self, kind: str, record: Any, *, status: int = 200) -> Response:
        """Respond with a record, and with its URL in ``Location`` when *status* is 201."""
        headers = {}
        if status == 201:
            headers["location"] = f"{self.request.public}/{_PATHS[kind]}/{record.id}"
        data = self._visible(
            rendering.render_full(self.store, RecordRef(kind, record), self.requested_fields)
        )
        return json_response({"data": data}, status, headers)

    def empty_response(self) -> Response:
        """Respond with empty data."""
        return json_response({"data": {}})

    def list_response(self, kind: str, records: Sequence[Any]) -> Response:
        """
        Respond with all *records*, or with one page of them when the query has a ``limit``.

        Raises:
            ApiError: ``limit`` or ``offset`` is invalid, or there are too many records without
                a limit.
        """
        limit = self.request.first("limit")
        if not limit:
            if len(records) > MAX_UNPAGED:
                raise errors.bad_request(
                    "The result is too large. You should use pagination (may require specifying"
                    " a workspace)!"
                )
            return json_response({"data": self._render(kind, records)})
        if not limit.isdecimal() or not 1 <= int(limit) <= MAX_PAGE_SIZE:
            raise errors.bad_request(f"limit: Must be between 1 and {MAX_PAGE_SIZE}")
        start = self._start(records)
        page = records[start : start + int(limit)]
        end = start + len(page)
        next_page = self._next_page(page[-1].id, end) if end < len(records) else None
        return json_response({"data": self._render(kind, page), "next_page": next_page})

    def _render(self, kind: str, records: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            self._visible(
                rendering.render_listed(self.store, RecordRef(kind, record), self.requested_fields)
            )
            for record in records
        ]

    def _visible(self, value: Any) -> Any:
        """Leave out the fields whose scope the token lacks."""
        if isinstance(value, list):
            return [self._visible(member) for member in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self._visible(member)
            for name, member in value.items()
            if name not in FIELD_SCOPES or self._has_scope(FIELD_SCOPES[name])
        }

    def _has_scope(self, scope: str) -> bool:
        scopes = () if self.request.grant is None else self.request.grant.scopes
        return not scopes or scope in scopes or "default" in scopes

    def _start(self, records: Sequence[Any]) -> int:
        values = self.request.every("offset")
        if not values:
            return 0
        try:
            padded = values[0] + "=" * (-len(values[0]) % 4)
            offset = msgspec.json.decode(urlsafe_b64decode(padded.encode()), type=Offset)
        except (ValueError, binascii.Error, msgspec.DecodeError):
            raise errors.bad_request("offset: Your pagination token is invalid.") from None
        if offset.call != self._call:
            raise errors.bad_request("offset: Your pagination token is invalid.")
        if self.store.seconds() - offset.since > OFFSET_SECONDS:
            raise errors.bad_request("offset: Your pagination token has expired.")
        positions = (n for n, record in enumerate(records, 1) if record.id == offset.after)
        return next(positions, min(offset.seen, len(records)))

    def _next_page(self, after: str, seen: int) -> dict[str, str]:
        offset = Offset(after=after, seen=seen, call=self._call, since=self.store.seconds())
        text = urlsafe_b64encode(msgspec.json.encode(offset)).decode().rstrip("=")
        uri = self.request.link(offset=text)
        return {"offset": text, "path": uri.removeprefix(self.request.public), "uri": uri}

    @property
    def _call(self) -> str:
        """Digest of the path and of the parameters that filter."""
        ignored = {"offset", "limit", "opt_fields"}
        filters = sorted(pair for pair in self.request.query if pair[0] not in ignored)
        return hashlib.sha256(orjson.dumps([self.request.path, filters])).hexdigest()[:12]

    # Records. *parameter* names the id in error messages; *status* is 400 for ids of a body.

    def get_workspace(self, gid: object, *, status: int = 404) -> Workspace:
        """
        Return a workspace.

        Raises:
            ApiError: No such workspace.
        """
        workspace = self.store.workspaces.find(str(gid))
        if workspace is None:
            raise errors.ApiError(status, f"workspace: Unknown object: {gid}")
        return workspace

    def get_project(self, gid: object, *, parameter: str = "project", status: int = 404) -> Project:
        """
        Return a project.

        Raises:
            ApiError: No such project, or the user cannot see it.
        """
        project = self._find(self.store.projects, gid, parameter, status)
        if not self.can_see(project):
            raise errors.forbidden("project")
        return project

    def can_see(self, project: Project) -> bool:
        """Whether the user can see a project."""
        return project.privacy != "private" or self.user.id in project.members

    def get_task(self, gid: object, *, parameter: str = "task", status: int = 404) -> Task:
        """
        Return a task.

        Raises:
            ApiError: No such task, or it has projects and the user can see none of them.
        """
        task = self._find(self.store.tasks, gid, parameter, status)
        projects = [self.store.projects.find(entry.project) for entry in task.memberships]
        if projects and not any(
            project is not None and self.can_see(project) for project in projects
        ):
            raise errors.forbidden("task")
        return task

    def get_section(self, gid: object, *, parameter: str = "section", status: int = 404) -> Section:
        """
        Return a section.

        Raises:
            ApiError: No such section, or the user cannot see its project.
        """
        section = self._find(self.store.sections, gid, parameter, status)
        self.get_project(section.owner)
        return section

    def get_tag(self, gid: object, *, parameter: str = "tag", status: int = 404) -> Tag:
        """
        Return a tag.

        Raises:
            ApiError: No such tag.
        """
        return self._find(self.store.tags, gid, parameter, status)

    def find_user(self, identifier: object) -> User | None:
        """Return the user with an id or an email address; "me" is the caller."""
        if identifier == "me":
            return self.user
        if isinstance(identifier, str) and "@" in identifier:
            address = identifier.casefold()
            users = self.store.users.all()
            return next((user for user in users if user.email.casefold() == address), None)
        return self.store.users.find(identifier) if isinstance(identifier, str) else None

    @staticmethod
    def _find(table: DocumentTable[_RecordT], gid: object, parameter: str, status: int) -> _RecordT:
        record = table.find(_validate_gid(parameter, gid))
        if record is None:
            raise errors.ApiError(status, f"{parameter}: Unknown object: {gid}")
        return record


_PATHS = {
    "task": "tasks",
    "project": "projects",
    "section": "sections",
    "story": "stories",
    "tag": "tags",
    "custom_field": "custom_fields",
}


def _validate_gid(parameter: str, gid: object) -> str:
    if not isinstance(gid, str):
        raise errors.bad_request(f"{parameter}: Not a valid GID type: {type(gid).__name__}")
    if not gid.isdecimal() or not gid.isascii():
        raise errors.bad_request(f"{parameter}: Not a recognized ID: {gid}")
    return gid
