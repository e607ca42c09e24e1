"""
The table of mask words and the schema fields they hide (docs/spec/masks.md).

Each field of an output type is declared as visible, or with the words that hide it
(`graph.output_types`). A masked field is null before its record is read, and its record attribute
is never requested upstream.
"""

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from graphql import (
    GraphQLField,
    GraphQLResolveInfo,
    GraphQLSchema,
    default_field_resolver,
    is_object_type,
)

from graph.coordinates import field_at, strawberry_field
from graph.edges import edge_of
from graph.masking import collab_masks as collab
from graph.output_types import words_of
from policy.grants import Grant
from policy.vocabulary import (
    WORD_TYPES,
    CalendarField,
    CollabField,
    EmailField,
    Field,
    Surface,
    TaskField,
)

# One row per word and surface, in the order of docs/spec/masks.md. Words belong to a surface:
# `labels` of mail and `labels` of the calendar are different words with the same text.
_CALENDAR: tuple[tuple[CalendarField, tuple[str, ...]], ...] = (
    (CalendarField.TITLE, ("Event.title",)),
    (CalendarField.DESCRIPTION, ("Event.description",)),
    (CalendarField.LOCATION, ("Event.location",)),
    (CalendarField.TIMES, ("Event.startUtc", "Event.endUtc", "Event.allDay")),
    (CalendarField.STATUS, ("Event.status",)),
    (CalendarField.ORGANIZER, ("Event.organizer", "Event.organizerPerson")),
    (CalendarField.ATTENDEES, ("Event.attendees",)),
    (CalendarField.JOIN_URL, ("Event.joinUrl",)),
    (CalendarField.LABELS, ("Event.labels",)),
    (CalendarField.RECURRENCE, ("Event.isRecurringEvent", "Event.series")),
)

_TASKS: tuple[tuple[TaskField, tuple[str, ...]], ...] = (
    (TaskField.NAME, ("TaskItem.name",)),
    (TaskField.STATUS, ("TaskItem.status",)),
    (TaskField.ASSIGNEES, ("TaskItem.assignees",)),
    (TaskField.DUE_DATE, ("TaskItem.dueDate",)),
    (TaskField.PRIORITY, ("TaskItem.priority",)),
    (TaskField.LABELS, ("TaskItem.labels",)),
    (TaskField.DESCRIPTION, ("TaskItem.description", "TaskBoard.description")),
    (TaskField.COMMENTS, ("TaskItem.comments",)),
    (TaskField.COLUMN_VALUES, ("TaskItem.columnValues",)),
    (TaskField.SUB_ITEMS, ("TaskItem.subItems", "TaskItem.parent")),
    (TaskField.CREATED_TIME, ("TaskItem.createdAt",)),
    (TaskField.MODIFIED_TIME, ("TaskItem.updatedAt",)),
    (TaskField.WEB_LINK, ("TaskItem.webUrl", "TaskBoard.webUrl")),
)

_ROWS: tuple[tuple[Field, tuple[str, ...]], ...] = (
    (EmailField.BODY, ("Email.links",)),
    *_CALENDAR,
    *_TASKS,
    *collab.WORDS,
)

_FIELD_TYPES = (EmailField, CalendarField, TaskField, CollabField)

# Coordinate -> the word that hides it.
_MASKED: Mapping[str, Field] = MappingProxyType(
    {coordinate: word for word, coordinates in _ROWS for coordinate in coordinates}
)

_CHILD_TOKEN = ("id", "name", "keyId", "createdAt", "expiresAt", "lastUsedAt", "settings")

# Type -> its structural fields. What stands below a masked field goes with it.
_ALWAYS_VISIBLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Person": (
            "email",
            "emails",
            "sent",
            "received",
            "threads",
            "events",
            "freeBusy",
            "tasks",
            "files",
            "sharedFiles",
            "lastContact",
        ),
        "Links": ("taskItems", "webUrls", "files"),
        "TaskItemLink": ("url", "item"),
        "Related": ("participants", "from", "to", "text", "emails", "links"),
        "LastContact": ("address", "email", "event"),
        "EventPage": ("events", "accessInfo", "currentUserCalendarEmail", "authWarnings", "meta"),
        "EventPageMeta": (
            "count",
            "offset",
            "totalCount",
            "totalCountExact",
            "hasMore",
            "from",
            "to",
        ),
        "EventAnswer": ("event", "accessInfo", "currentUserCalendarEmail"),
        "Event": ("id", "calendar", "related"),
        "Attendee": ("email", "name", "response", "person"),
        "FreeBusyAnswer": ("calendars", "accessInfo", "authWarnings"),
        "FreeBusyCalendar": ("calendarId", "calendarName", "busy", "free"),
        "TimePeriod": ("startUtc", "endUtc", "durationMinutes"),
        "CalendarList": ("calendars", "accessInfo", "authWarnings"),
        "Calendar": (
            "calendarId",
            "calendarName",
            "provider",
            "accountEmail",
            "isPrimary",
            "timeZone",
            "person",
        ),
        "TaskProvider": ("providerCode", "providerDisplayName", "connectionId", "status"),
        "TaskBoardPage": (
            "provider",
            "boards",
            "nextPageToken",
            "hasMore",
            "accessInfo",
            "authWarnings",
        ),
        "TaskBoardAnswer": ("provider", "board", "accessInfo"),
        "TaskBoard": (
            "id",
            "name",
            "state",
            "workspaceId",
            "workspaceName",
            "folderId",
            "folderName",
            "groups",
            "columns",
            "tags",
            "items",
        ),
        "TaskGroup": ("id", "title", "color"),
        "TaskColumn": ("id", "title", "type", "writable", "options"),
        "TaskTag": ("id", "name", "color"),
        "TaskItemPage": (
            "provider",
            "items",
            "nextPageToken",
            "hasMore",
            "totalCount",
            "accessInfo",
        ),
        "TaskItemAnswer": ("provider", "item", "accessInfo"),
        "TaskItem": ("id", "boardId", "board", "groupId", "groupName"),
        "TaskColumnValue": ("columnId", "columnTitle", "type", "text", "value"),
        "TaskComment": ("id", "body", "authorName", "createdAt"),
        "TaskItemResult": (
            "provider",
            "success",
            "itemId",
            "item",
            "errorCode",
            "errorMessage",
            "rejectedFields",
        ),
        "TaskOperationResult": ("provider", "success", "errorCode", "errorMessage"),
        "TaskCommentResult": ("provider", "success", "commentId", "errorCode", "errorMessage"),
        "AccessToken": (
            "id",
            "name",
            "expiresAt",
            "settings",
            "effectiveEmailOperations",
            "effectiveTaskOperations",
            "effectiveCollabOperations",
            "connections",
        ),
        "ChildToken": _CHILD_TOKEN,
        "CreatedChildToken": (*_CHILD_TOKEN, "token"),
        "ChildTokenList": ("children",),
        "RevokedChildToken": ("id",),
        "TokenConnection": (
            "id",
            "kind",
            "provider",
            "accountEmail",
            "status",
            "reconnectUrl",
            "person",
        ),
        **collab.STRUCTURAL,
    }
)


# Coordinate -> the words that hide it, which it is made of: it is null when the token sees none of
# them. Filled by `apply`.
_hiding_words: Final[dict[str, tuple[Field, ...]]] = {}


def apply(schema: GraphQLSchema) -> None:
    """Make every maskable field of *schema* answer null to callers it is hidden from."""
    _hiding_words.update(table(schema))
    for coordinate in _hiding_words:
        field = field_at(schema, coordinate)
        field.resolve = _unless_hidden(coordinate, field.resolve or default_field_resolver)


def table(schema: GraphQLSchema) -> dict[str, tuple[Field, ...]]:
    """
    Return coordinate -> the words that hide it together, of the fields that a word hides.

    Fields of one word come first, in the order of the vocabulary, then those of several.

    Raises:
        TypeError: A field of an output type is not declared by `visible` or `masked`.
    """
    words = {
        f"{type_.name}.{name}": _declared_words(f"{type_.name}.{name}", field)
        for type_ in schema.type_map.values()
        if is_object_type(type_) and not type_.name.startswith("__")
        for name, field in type_.fields.items()
    }
    masked = [item for item in words.items() if item[1]]
    return dict(sorted(masked, key=lambda item: _order(item[1])))


def hidden(grant: Grant) -> frozenset[str]:
    """Return the coordinates ("Email.body") that a token with *grant* may not see."""
    return _hidden(
        grant.visible_email_fields,
        grant.visible_calendar_fields,
        grant.visible_task_fields,
        grant.visible_collab_fields,
    )


@lru_cache(maxsize=1024)
def _hidden(*visible: frozenset[Field]) -> frozenset[str]:
    """Do it for the visible words of each surface, in the order of `_FIELD_TYPES`."""
    if not _hiding_words:
        raise RuntimeError("The schema is not built yet, so nothing is known of its masks.")
    seen = dict(zip(_FIELD_TYPES, visible, strict=True))
    return frozenset(
        coordinate
        for coordinate, words in _hiding_words.items()
        if not any(word in seen[type(word)] for word in words)
    )


def words_hiding(coordinate: str) -> str:
    """Return the words that hide *coordinate*, separated by `, `."""
    return ", ".join(_hiding_words[coordinate])


def by_type(hidden: Container[str], surfaces: Container[Surface]) -> dict[str, list[str]]:
    """Group the *hidden* coordinates of *surfaces* by type, in the order of `table`."""
    grouped: dict[str, list[str]] = {}
    for coordinate, words in _hiding_words.items():
        if coordinate in hidden and WORD_TYPES[type(words[0])].surface in surfaces:
            owner, _, field = coordinate.partition(".")
            grouped.setdefault(owner, []).append(field)
    return grouped


def hiding_words(coordinates: Container[str], grant: Grant) -> dict[Surface, list[Field]]:
    """Return the words that hide some of *coordinates* from *grant*, in their order."""
    by_surface: dict[Surface, dict[Field, None]] = {}
    for coordinate, (word, *others) in _hiding_words.items():
        if coordinate in coordinates and not others and not grant.sees(word):
            by_surface.setdefault(WORD_TYPES[type(word)].surface, {})[word] = None
    return {surface: list(words) for surface, words in by_surface.items()}


def _order(words: tuple[Field, ...]) -> tuple[int, int, int]:
    kind = type(words[0])
    return len(words), _FIELD_TYPES.index(kind), list(kind).index(words[0])


def _declared_words(coordinate: str, field: GraphQLField) -> tuple[Field, ...]:
    edge = edge_of(field)
    words = words_of(strawberry_field(field)) if edge is None else None
    if words is not None:
        return words
    owner, _, name = coordinate.partition(".")
    if coordinate in _MASKED:
        return (_MASKED[coordinate],)
    if edge is not None or name in _ALWAYS_VISIBLE.get(owner, ()):
        return ()
    raise TypeError(f"{coordinate} must be declared as `visible` or `masked`.")


def _unless_hidden(coordinate: str, resolve: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_visible(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        if coordinate in info.context.hidden:
            return None
        return resolve(source, info, **arguments)

    return resolve_visible
