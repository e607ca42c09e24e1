"""Output types of `changes`."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import strawberry

from graph.changes import state
from graph.output_types import INTERNAL, output, visible
from graph.scalars import Long
from policy.vocabulary import Surface
from providers.records.base import Record


@strawberry.enum(graphql_name_from="value", description="A surface whose changes are told.")
class ChangeSurface(StrEnum):
    EMAIL = Surface.EMAIL.value
    CALENDAR = Surface.CALENDAR.value
    TASKS = Surface.TASKS.value
    FILES = "files"
    LISTS = "lists"


@strawberry.enum(graphql_name_from="value", description="What has become of an object.")
class ChangeKind(StrEnum):
    CREATED = state.CREATED
    CHANGED = state.CHANGED
    GONE = state.GONE
    APPEARED = state.APPEARED
    RESYNC = state.RESYNC


@strawberry.enum(graphql_name_from="value", description="Why a connection tells no changes.")
class ChangeFailure(StrEnum):
    NEEDS_REAUTH = "needs_reauth"
    DISABLED = "disabled"
    ERROR = "error"
    THROTTLED = "throttled"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    TOO_MANY = "too_many"
    UNSUPPORTED = "unsupported"


@output
class Change(Record, frozen=True, kw_only=True):
    """An object that is not as it was, or a connection whose listing counts no longer."""

    id: Annotated[str, visible("The same when the same row is told again.")]
    surface: Annotated[ChangeSurface, visible("The surface of the object.")]
    kind: Annotated[
        ChangeKind,
        visible(
            "`created`, `changed`, `gone`; `appeared`: the token may see it now. `resync`: drop "
            "what is known of the connection, and read its listing again."
        ),
    ]
    object_id: Annotated[str | None, visible("The object's id; null for `resync`.")]
    changed: Annotated[
        tuple[str, ...], visible("Of `changed`, the members with other values; else empty.")
    ]
    at: Annotated[datetime, visible("When the gateway learned of it.")]
    connection_id: Annotated[
        int | None,
        visible(
            "The connection; null for an object whose connection is hidden.",
            graphql_type=Long | None,
        ),
    ]
    provider: Annotated[str | None, INTERNAL] = None

    @property
    def email_id(self) -> str | None:
        return self._object_of(ChangeSurface.EMAIL)

    @property
    def event_id(self) -> str | None:
        return self._object_of(ChangeSurface.CALENDAR)

    @property
    def task_id(self) -> str | None:
        return self._object_of(ChangeSurface.TASKS)

    @property
    def file_id(self) -> str | None:
        return self._object_of(ChangeSurface.FILES)

    @property
    def list_item_id(self) -> str | None:
        return self._object_of(ChangeSurface.LISTS)

    @property
    def list_id(self) -> str | None:
        return self.list_item_id and self.list_item_id.partition(":item:")[0]

    @property
    def site_id(self) -> str | None:
        return self.list_id and self.list_id.partition(":list:")[0]

    def _object_of(self, surface: ChangeSurface) -> str | None:
        is_there = self.surface is surface and self.kind is not ChangeKind.GONE
        return self.object_id if is_there else None


@output
class UpTo(Record, frozen=True, kw_only=True):
    """Moment up to which the changes of a connection are told."""

    connection_id: Annotated[int, visible("The connection.", graphql_type=Long)]
    surface: Annotated[ChangeSurface, visible("Its surface.")]
    at: Annotated[
        datetime | None,
        visible("Its changes are told up to this moment; null when it was never read."),
    ]
    code: Annotated[ChangeFailure | None, visible("Why not up to now; null when they are.")]
    unfollowed: Annotated[
        tuple[str, ...],
        visible(
            "Members whose changes are not told, since they would reveal those of hidden ones."
        ),
    ]
    from_: Annotated[datetime | None, visible("Of events: the start of the range.")]
    to: Annotated[datetime | None, visible("Of events: the end of the range.")]


@output
class ChangePage(Record, frozen=True, kw_only=True):
    """Changes since a cursor."""

    changes: Annotated[tuple[Change, ...], visible("The rows, in order per object.")]
    up_to: Annotated[tuple[UpTo, ...], visible("One entry per connection and surface.")]
    cursor: Annotated[str, visible("Pass it as `since` for what changes from here on.")]
    more: Annotated[bool, visible("Whether there is more to tell at once.")]
    auth_warnings: Annotated[
        tuple[str, ...] | None,
        visible("One sentence per account that could not be read; else null."),
    ]
