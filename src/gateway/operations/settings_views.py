"""The API's TokenSettings object, member by member, in the order of `policy.settings`."""

from typing import Annotated, NotRequired, TypedDict

from gateway.operations.json_schemas import Keywords, enum_of
from policy import vocabulary as words
from policy.settings import DEFAULTS, MAX_DAYS, MAX_LONG, MAX_REQUESTS, MAX_TEXT, MAX_WORDS
from rest_compat.openapi.schema_values import JsonSchema, nullable

_SHORT = Keywords(maxItems=MAX_WORDS)
EmailOps = Annotated[list[Annotated[str, enum_of(words.EmailOp, words.EMAIL_COMPOSITES)]], _SHORT]
TaskOps = Annotated[list[Annotated[str, enum_of(words.TaskOp, words.TASK_COMPOSITES)]], _SHORT]
CollabOps = Annotated[
    list[Annotated[str, enum_of(words.CollabOp, words.COLLAB_COMPOSITES)]], _SHORT
]
EmailFields = Annotated[list[Annotated[str, enum_of(words.EmailField, [words.ALL])]], _SHORT]
CalendarFields = Annotated[list[Annotated[str, enum_of(words.CalendarField, [words.ALL])]], _SHORT]
TaskFields = Annotated[list[Annotated[str, enum_of(words.TaskField, [words.ALL])]], _SHORT]
CollabFields = Annotated[list[Annotated[str, enum_of(words.CollabField, [words.ALL])]], _SHORT]
Texts = Annotated[list[str], _SHORT]
Ids = Annotated[list[Annotated[int, Keywords(format="int64", minimum=0, maximum=MAX_LONG)]], _SHORT]
Days = Annotated[int, Keywords(minimum=0, maximum=MAX_DAYS)]
Requests = Annotated[int, Keywords(minimum=0, maximum=MAX_REQUESTS)]


class BoardScope(TypedDict):
    """A task board that a token may reach."""

    boardId: Annotated[str, "The board.", Keywords(minLength=1, maxLength=MAX_TEXT)]
    provider: NotRequired[Annotated[words.TaskProvider, "Whose board; absent: whoever has it."]]
    allowCreate: NotRequired[Annotated[bool, "Whether items may be made on it; true unless said."]]


Boards = Annotated[list[BoardScope], _SHORT]


class TokenQuota(TypedDict, total=False):
    """How many requests a token may make in any window; absent: no limit of its own."""

    perMinute: Annotated[Requests, "In 60 seconds."]
    perHour: Annotated[Requests, "In 3600 seconds."]
    perDay: Annotated[Requests, "In 86400 seconds."]


class TokenSettings(TypedDict):
    """What an access token may do."""

    emailAccessEnabled: Annotated[bool, "Whether mail can be reached at all."]
    allowedEmailOperations: Annotated[EmailOps, "What may be done with mail."]
    visibleEmailFields: Annotated[EmailFields, "The fields of mail that are shown."]
    calendarAccessEnabled: Annotated[bool, "Whether calendars can be reached at all."]
    calendarAccessLevel: Annotated[words.CalendarAccessLevel, "How much of calendars is shown."]
    visibleCalendarFields: Annotated[CalendarFields, "The fields of events that are shown."]
    timeframePastDays: Annotated[Days | None, "How far back events are shown; null: all."]
    timeframeFutureDays: Annotated[Days | None, "How far ahead events are shown; null: all."]
    allowedCalendarIds: Annotated[Ids | None, "The calendars that are shown; null: all."]
    allowedTaskOperations: Annotated[TaskOps, "What may be done with tasks."]
    taskBoards: Annotated[Boards | None, "The boards that can be reached; null: all."]
    visibleTaskFields: Annotated[TaskFields, "The fields of tasks that are shown."]
    writableTaskFields: Annotated[Texts, "The columns that may be written, by id; or `all`."]
    defaultTaskProvider: Annotated[
        words.TaskProvider | None, "What `auto` means; null: what the connections say."
    ]
    collabAccessEnabled: Annotated[bool, "Whether collaboration content can be reached at all."]
    allowedCollabOperations: Annotated[CollabOps, "What may be done with collaboration content."]
    collabAllowAllDefault: Annotated[bool, "Whether what no collab rule matches is allowed."]
    visibleCollabFields: Annotated[CollabFields, "The fields of content that are shown."]
    collabSearchTotals: Annotated[
        words.SearchTotals,
        "`unfiltered`: `total` of a search counts hits that are not shown too; `visible`: it does "
        "not, and nothing hidden can be told from a search.",
    ]
    allowedConnectionIds: Annotated[Ids | None, "The connections that can be used; null: all."]
    maskMode: Annotated[
        words.MaskMode,
        "`strict`: hidden fields cannot be told by filters, either; `basic`: they are null.",
    ]
    quota: Annotated[TokenQuota | None, "The token's own limits; null: none."]


CHANGE: JsonSchema = {"$ref": "#/components/schemas/TokenSettingsChange"}


def change_of(settings: JsonSchema) -> JsonSchema:
    """Return the component that `CHANGE` refers to, derived from the schema of *settings*."""
    return {
        **settings,
        "description": "Settings to change, key by key; null resets one to its default.",
        "properties": {
            name: schema if DEFAULTS[name] is None else nullable(schema)
            for name, schema in settings["properties"].items()
        },
        "required": [],
    }
