"""
The table of mask words and the schema fields they hide (docs/spec/masks.md).

Every field of every output type is in exactly one of three tables: `MASKED` (one word hides it),
`HIDDEN_WITH_ALL` (hidden when every one of its sources is), `ALWAYS_VISIBLE`. A masked field is
null before its record is read, and its record attribute is never requested upstream.
"""

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from graphql import GraphQLResolveInfo, GraphQLSchema, default_field_resolver

from graph.coordinates import field_at
from graph.masking import collab_masks as collab
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
_EMAIL: tuple[tuple[EmailField, tuple[str, ...]], ...] = (
    (EmailField.SUBJECT, ("Email.subject", "Thread.subject")),
    (EmailField.FROM, ("Email.from",)),
    (EmailField.TO, ("Email.to",)),
    (EmailField.CC, ("Email.cc",)),
    (EmailField.BCC, ("Email.bcc",)),
    (EmailField.BODY_PREVIEW, ("Email.bodyPreview",)),
    (EmailField.BODY, ("Email.body", "Email.bodyType", "Email.text", "Email.links")),
    (EmailField.SENT_AT, ("Email.sentAt",)),
    (EmailField.RECEIVED_AT, ("Email.receivedAt", "Thread.lastMessageAt")),
    (EmailField.ATTACHMENTS, ("Email.attachments",)),
    (EmailField.LABELS, ("Email.labels",)),
    (EmailField.IMPORTANCE, ("Email.importance",)),
)

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

_ROWS: tuple[tuple[Field, tuple[str, ...]], ...] = (*_EMAIL, *_CALENDAR, *_TASKS, *collab.WORDS)

_FIELD_TYPES = (EmailField, CalendarField, TaskField, CollabField)

# Coordinate -> the word that hides it.
MASKED: Mapping[str, Field] = MappingProxyType(
    {coordinate: word for word, coordinates in _ROWS for coordinate in coordinates}
)

# Coordinate -> the words that hide it together: it is made of what is left visible.
HIDDEN_WITH_ALL: Mapping[str, tuple[Field, ...]] = MappingProxyType(
    {"Thread.participants": (EmailField.FROM, EmailField.TO, EmailField.CC)}
)

_CHILD_TOKEN = ("id", "name", "keyId", "createdAt", "expiresAt", "lastUsedAt", "settings")

# Type -> its structural fields. What stands below a masked field goes with it.
ALWAYS_VISIBLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Query": (
            "emails",
            "email",
            "emailAttachment",
            "emailAttachmentText",
            "emailThread",
            "emailThreads",
            "calendarEvents",
            "calendarEvent",
            "eventSeries",
            "eventsByContact",
            "freeBusy",
            "calendars",
            "calendar",
            "taskProviders",
            "taskBoards",
            "taskBoard",
            "taskItems",
            "taskItem",
            *collab.QUERIES,
            "person",
            "lastContact",
            "links",
            "related",
            "accessToken",
            "childTokens",
        ),
        "Mutation": (
            "sendEmail",
            "replyToEmail",
            "forwardEmail",
            "deleteEmail",
            "modifyEmail",
            "uploadEmailAttachment",
            "deleteUploadedAttachment",
            "createTaskItem",
            "updateTaskItem",
            "deleteTaskItem",
            "addTaskComment",
            *collab.MUTATIONS,
            "createChildToken",
            "revokeChildToken",
        ),
        "EmailPage": (
            "emails",
            "totalCount",
            "totalCountExact",
            "hasMore",
            "nextPageToken",
            "accessInfo",
            "authWarnings",
        ),
        "Email": ("id", "threadId", "thread", "isRead", "hasAttachments", "provider", "accessInfo"),
        "Thread": ("id", "messages", "messageCount", "provider", "accessInfo"),
        "Participant": ("email", "name", "person"),
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
        "ThreadPage": ("threads", "hasMore", "nextPageToken", "accessInfo", "authWarnings"),
        "ThreadEntry": ("id", "thread"),
        "Links": ("taskItems", "webUrls", "files"),
        "TaskItemLink": ("url", "item"),
        "Related": ("participants", "from", "to", "text", "emails", "links"),
        "LastContact": ("address", "email", "event"),
        "Attachment": ("id", "name", "contentType", "size", "isInline"),
        # Its root fields are refused while the word of the bytes is hidden.
        "FileText": ("content", "isCut"),
        # The root field is refused while `attachments` is hidden.
        "UploadedAttachment": ("handle", "name", "contentType", "size", "expiresAt"),
        "EmailAttachment": (
            "id",
            "name",
            "contentType",
            "size",
            "isInline",
            "downloadUrl",
            "expiresAt",
        ),
        "EmailActionResult": (
            "success",
            "emailId",
            "threadId",
            "errorCode",
            "errorMessage",
            "held",
        ),
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
    seen = dict(zip(_FIELD_TYPES, visible, strict=True))
    single = {coordinate for coordinate, word in MASKED.items() if word not in seen[type(word)]}
    together = {
        coordinate
        for coordinate, hiding_words in HIDDEN_WITH_ALL.items()
        if not any(word in seen[type(word)] for word in hiding_words)
    }
    return frozenset(single | together)


def words_hiding(coordinate: str) -> str:
    """Return the words that hide *coordinate*, separated by `, `."""
    return ", ".join(HIDDEN_WITH_ALL.get(coordinate) or (MASKED[coordinate],))


def by_type(hidden: Container[str], surfaces: Container[Surface]) -> dict[str, list[str]]:
    """Group the *hidden* coordinates of *surfaces* by type, in the order of the tables."""
    hiding_words: dict[str, Field] = {
        **MASKED,
        **{coordinate: all_of[0] for coordinate, all_of in HIDDEN_WITH_ALL.items()},
    }
    grouped: dict[str, list[str]] = {}
    for coordinate, word in hiding_words.items():
        if coordinate in hidden and WORD_TYPES[type(word)].surface in surfaces:
            owner, _, field = coordinate.partition(".")
            grouped.setdefault(owner, []).append(field)
    return grouped


def hiding_words(coordinates: Container[str], grant: Grant) -> dict[Surface, list[Field]]:
    """Return the words that hide some of *coordinates* from *grant*, in table order."""
    by_surface: dict[Surface, list[Field]] = {}
    for word, governed in _ROWS:
        if not grant.sees(word) and any(coordinate in coordinates for coordinate in governed):
            by_surface.setdefault(WORD_TYPES[type(word)].surface, []).append(word)
    return by_surface


def apply(schema: GraphQLSchema) -> None:
    """Make every maskable field of *schema* answer null to callers it is hidden from."""
    for coordinate in (*MASKED, *HIDDEN_WITH_ALL):
        field = field_at(schema, coordinate)
        field.resolve = _unless_hidden(coordinate, field.resolve or default_field_resolver)


def _unless_hidden(coordinate: str, resolve: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_visible(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        if coordinate in info.context.hidden:
            return None
        return resolve(source, info, **arguments)

    return resolve_visible
