"""One call: who makes it, what it carries, and what it may reach."""

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import orjson

from sandbox.http import Request, Response, json_response
from sandbox.projects import errors, opt_fields, rendering
from sandbox.projects.opt_fields import FieldTree
from sandbox.projects.records import Project, Section, Tag, Task, User
from sandbox.projects.store import ProjectStore
from sandbox.projects.views import RecordRef

MAX_PAGE_SIZE = 100  # records a page
MAX_UNPAGED = 1_000  # records that a listing without a limit may hold
OFFSET_SECONDS = 3_600.0  # seconds: of an offset


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a listing: after which record, how many are before, of which call, since when."""

    after: str
    seen: int
    call: str
    since: float


@dataclass(frozen=True)
class CallContext:
    """The call."""

    store: ProjectStore
    me: User
    request: Request

    # What it carries

    @cached_property
    def tree(self) -> FieldTree | None:
        """The fields asked for, in the query or in the body's options."""
        asked = self.request.first("opt_fields")
        if not asked and self.request.method in {"POST", "PUT"}:
            options = self._body.get("options")
            list_field = options.get("fields") if isinstance(options, dict) else None
            asked = ",".join(map(str, list_field)) if isinstance(list_field, list) else ""
        return opt_fields.parse(asked)

    @cached_property
    def data(self) -> dict[str, Any]:
        """
        The body's data.

        Raises:
            ApiError: There is none, or something stands beside it.
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
        Return a list of the body's data, empty when it is not given.

        Raises:
            ApiError: It is something else.
        """
        given = self.data.get(name)
        if given is None:
            return []
        if not isinstance(given, list):
            raise errors.bad_request(f"{name}: Value is not an array")
        return given

    @cached_property
    def _body(self) -> dict[str, Any]:
        try:
            body = self.request.json()
        except ValueError:
            raise errors.bad_request("Could not parse request data, invalid JSON") from None
        if not isinstance(body, dict):
            raise errors.bad_request("Could not parse request data, invalid JSON")
        return body

    def flag(self, name: str) -> bool | None:
        """Return a true or false of the query, None when it is not given."""
        return {"true": True, "false": False}.get(self.request.first(name).lower())

    # What it answers

    def one(self, kind: str, record: Any, *, status: int = 200) -> Response:
        """Answer with a record; a new one says where it can be read."""
        headers = {}
        if status == 201:
            headers["location"] = f"{self.request.public}/{_PATHS[kind]}/{record.id}"
        shown = rendering.render_full(self.store, RecordRef(kind, record), self.tree)
        return json_response({"data": shown}, status, headers)

    def nothing(self) -> Response:
        """Answer that it is done."""
        return json_response({"data": {}})

    def many(self, kind: str, records: Sequence[Any]) -> Response:
        """
        Answer with a listing, or a page of it when a limit is given.

        Raises:
            ApiError: Limit or offset make no sense, or there is too much without a limit.
        """
        asked = self.request.first("limit")
        if not asked:
            if len(records) > MAX_UNPAGED:
                raise errors.bad_request(
                    "The result is too large. You should use pagination (may require specifying"
                    " a workspace)!"
                )
            return json_response({"data": self._shown(kind, records)})
        if not asked.isdecimal() or not 1 <= int(asked) <= MAX_PAGE_SIZE:
            raise errors.bad_request(f"limit: Must be between 1 and {MAX_PAGE_SIZE}")
        start = self._start(records)
        page = records[start : start + int(asked)]
        end = start + len(page)
        following = self._following(page[-1].id, end) if end < len(records) else None
        return json_response({"data": self._shown(kind, page), "next_page": following})

    def _shown(self, kind: str, records: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            rendering.render_listed(self.store, RecordRef(kind, record), self.tree)
            for record in records
        ]

    def _start(self, records: Sequence[Any]) -> int:
        given = self.request.every("offset")
        if not given:
            return 0
        try:
            padded = given[0] + "=" * (-len(given[0]) % 4)
            place = msgspec.json.decode(urlsafe_b64decode(padded.encode()), type=Offset)
        except (ValueError, binascii.Error, msgspec.DecodeError):
            raise errors.bad_request("offset: Your pagination token is invalid.") from None
        if place.call != self._call:
            raise errors.bad_request("offset: Your pagination token is invalid.")
        if self.store.seconds() - place.since > OFFSET_SECONDS:
            raise errors.bad_request("offset: Your pagination token has expired.")
        found = (n for n, one in enumerate(records, 1) if one.id == place.after)
        return next(found, min(place.seen, len(records)))

    def _following(self, after: str, seen: int) -> dict[str, str]:
        place = Offset(after=after, seen=seen, call=self._call, since=self.store.seconds())
        offset = urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")
        uri = self.request.link(offset=offset)
        return {"offset": offset, "path": uri.removeprefix(self.request.public), "uri": uri}

    @property
    def _call(self) -> str:
        """What an offset belongs to: the path and all that filters."""
        filters = [
            one for one in self.request.query if one[0] not in {"offset", "limit", "opt_fields"}
        ]
        text = orjson.dumps([self.request.path, sorted(filters)])
        return hashlib.sha256(text).hexdigest()[:12]

    # What it may reach

    def project(self, gid: object, *, named: str = "project", status: int = 404) -> Project:
        """
        Return a project.

        Raises:
            ApiError: There is none, or it is private to others. *status* is 400 for a body.
        """
        found = self.store.projects.find(_gid(named, gid))
        if found is None:
            raise errors.ApiError(status, f"{named}: Unknown object: {gid}")
        if not self.can_see(found):
            raise errors.forbidden("project")
        return found

    def can_see(self, project: Project) -> bool:
        """Whether the user sees a project."""
        return project.privacy != "private" or self.me.id in project.members

    def task(self, gid: object, *, named: str = "task", status: int = 404) -> Task:
        """
        Return a task.

        Raises:
            ApiError: There is none, or all its projects are private to others.
        """
        found = self.store.tasks.find(_gid(named, gid))
        if found is None:
            raise errors.ApiError(status, f"{named}: Unknown object: {gid}")
        projects = [
            self.store.projects.find(membership.project) for membership in found.memberships
        ]
        if projects and not any(
            project is not None and self.can_see(project) for project in projects
        ):
            raise errors.forbidden("task")
        return found

    def section(self, gid: object, *, named: str = "section", status: int = 404) -> Section:
        """
        Return a section.

        Raises:
            ApiError: There is none, or its project is private to others.
        """
        found = self.store.sections.find(_gid(named, gid))
        if found is None:
            raise errors.ApiError(status, f"{named}: Unknown object: {gid}")
        self.project(found.owner)
        return found

    def tag(self, gid: object, *, named: str = "tag", status: int = 404) -> Tag:
        """
        Return a tag.

        Raises:
            ApiError: There is none.
        """
        found = self.store.tags.find(_gid(named, gid))
        if found is None:
            raise errors.ApiError(status, f"{named}: Unknown object: {gid}")
        return found

    def user(self, given: object) -> User | None:
        """Return the user that "me", an address or an id names."""
        if given == "me":
            return self.me
        if isinstance(given, str) and "@" in given:
            wanted = given.casefold()
            every = self.store.users.all()
            return next((one for one in every if one.email.casefold() == wanted), None)
        return self.store.users.find(given) if isinstance(given, str) else None


_PATHS = {
    "task": "tasks",
    "project": "projects",
    "section": "sections",
    "story": "stories",
    "tag": "tags",
    "custom_field": "custom_fields",
}


def _gid(named: str, given: object) -> str:
    if not isinstance(given, str):
        raise errors.bad_request(f"{named}: Not a valid GID type: {type(given).__name__}")
    if not given.isdecimal() or not given.isascii():
        raise errors.bad_request(f"{named}: Not a recognized ID: {given}")
    return given
