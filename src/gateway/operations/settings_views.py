"""The API's TokenSettings object, member by member, in the order of `policy.settings`."""

from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # which pydantic needs before Python 3.12

from gateway.operations.json_schemas import Keywords, about, enum_of
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
Provider = Annotated[str, enum_of(words.TaskProvider)]
Texts = Annotated[list[str], _SHORT]
# `ge` and `le` become `minimum` and `maximum` late, as FastAPI would make floats of these.
Ids = Annotated[list[Annotated[int, Keywords(format="int64", ge=0, le=MAX_LONG)]], _SHORT]
Days = Annotated[int, Keywords(ge=0, le=MAX_DAYS)]
Requests = Annotated[int, Keywords(ge=0, le=MAX_REQUESTS)]


CLOSED = ConfigDict(extra="forbid")
AS_THE_TOKEN = about("As that of the token, on the account.")
DOCUMENTS = Keywords(
    anyOf=[
        {"type": "string", "enum": ["any", "saved"]},
        {"type": "array", "items": {"type": "string"}, "maxItems": MAX_WORDS},
    ]
)


@with_config(CLOSED)
class BoardScope(TypedDict):
    """A task board that a token may reach."""

    boardId: Annotated[str, about("The board."), Keywords(minLength=1, maxLength=MAX_TEXT)]
    provider: NotRequired[
        Annotated[Provider, about("The provider of the board; absent: any provider.")]
    ]
    allowCreate: NotRequired[
        Annotated[bool, about("Whether items may be created on it; default: true.")]
    ]


Boards = Annotated[list[BoardScope], _SHORT]


@with_config(CLOSED)
class TokenQuota(TypedDict, total=False):
    """How many requests a token may make in any window; absent: no limit of its own."""

    perMinute: Annotated[Requests, about("In 60 seconds.")]
    perHour: Annotated[Requests, about("In 3,600 seconds.")]
    perDay: Annotated[Requests, about("In 86,400 seconds.")]


@with_config(CLOSED)
class RecipientRules(TypedDict, total=False):
    """To whom a token may write; block wins, and who matches no pattern is not allowed."""

    allow: Annotated[Texts, about("Addresses, `@domain`, or `*` for everyone.")]
    block: Annotated[Texts, about("Addresses, `@domain`, or `*` for everyone.")]


@with_config(CLOSED)
class AccountSettings(TypedDict, total=False):
    """By what an account narrows the token's settings; absent: not at all."""

    allowedEmailOperations: Annotated[EmailOps, about("The allowed operations on mail.")]
    visibleEmailFields: Annotated[EmailFields, about("The visible fields of mail.")]
    sendMode: Annotated[str, enum_of(words.SendMode), about("Whether mail is sent or held.")]
    calendarAccessLevel: Annotated[
        str, enum_of(words.CalendarAccessLevel), about("How much of a calendar is visible.")
    ]
    visibleCalendarFields: Annotated[CalendarFields, about("The visible fields of events.")]
    timeframePastDays: Annotated[Days, about("Events are visible this many days back.")]
    timeframeFutureDays: Annotated[Days, about("Events are visible this many days ahead.")]
    allowedCalendarIds: Annotated[Ids, about("The ids of the visible calendars.")]
    allowedTaskOperations: Annotated[TaskOps, about("The allowed operations on tasks.")]
    taskBoards: Annotated[Boards, about("The boards that the token reaches.")]
    visibleTaskFields: Annotated[TaskFields, about("The visible fields of tasks.")]
    writableTaskFields: Annotated[Texts, about("The columns that may be written, by id; or `all`.")]
    allowedCollabOperations: Annotated[
        CollabOps, about("The allowed operations on collaboration content.")
    ]
    visibleCollabFields: Annotated[
        CollabFields, about("The visible fields of collaboration content.")
    ]
    collabSearchTotals: Annotated[
        str, enum_of(words.SearchTotals), about("What `total` of a search counts.")
    ]
    recipientRules: Annotated[RecipientRules, about("The allowed recipients.")]


@with_config(CLOSED)
class TokenSettings(TypedDict):
    """What an access token may do."""

    emailAccessEnabled: Annotated[bool, about("Whether the email surface is enabled.")]
    allowedEmailOperations: Annotated[EmailOps, about("The allowed operations on mail.")]
    visibleEmailFields: Annotated[EmailFields, about("The visible fields of mail.")]
    calendarAccessEnabled: Annotated[bool, about("Whether the calendar surface is enabled.")]
    calendarAccessLevel: Annotated[
        str, enum_of(words.CalendarAccessLevel), about("How much of a calendar is visible.")
    ]
    visibleCalendarFields: Annotated[CalendarFields, about("The visible fields of events.")]
    timeframePastDays: Annotated[
        Days | None, about("Events are visible this many days back; null: all.")
    ]
    timeframeFutureDays: Annotated[
        Days | None, about("Events are visible this many days ahead; null: all.")
    ]
    allowedCalendarIds: Annotated[Ids | None, about("The ids of the visible calendars; null: all.")]
    allowedTaskOperations: Annotated[TaskOps, about("The allowed operations on tasks.")]
    taskBoards: Annotated[Boards | None, about("The boards that the token reaches; null: all.")]
    visibleTaskFields: Annotated[TaskFields, about("The visible fields of tasks.")]
    writableTaskFields: Annotated[Texts, about("The columns that may be written, by id; or `all`.")]
    defaultTaskProvider: Annotated[
        Provider | None, about("The provider that `auto` means; null: the only connected one.")
    ]
    collabAccessEnabled: Annotated[bool, about("Whether the collab surface is enabled.")]
    allowedCollabOperations: Annotated[
        CollabOps, about("The allowed operations on collaboration content.")
    ]
    collabAllowAllDefault: Annotated[
        bool, about("Whether content that no collab rule matches is allowed.")
    ]
    visibleCollabFields: Annotated[
        CollabFields, about("The visible fields of collaboration content.")
    ]
    collabSearchTotals: Annotated[
        str,
        enum_of(words.SearchTotals),
        about(
            "`unfiltered`: `total` of a search counts hits that are not shown too; `visible`: it "
            "does not, and nothing hidden can be told from a search."
        ),
    ]
    allowedConnectionIds: Annotated[
        Ids | None, about("The ids of the usable connections; null: all.")
    ]
    accounts: Annotated[
        dict[str, AccountSettings] | None,
        about("Narrower settings on single accounts, by connection id; null: none."),
    ]
    recipientRules: Annotated[
        RecipientRules | None,
        about("The allowed recipients of mail, shared files and assigned tasks; null: everyone."),
    ]
    sendMode: Annotated[
        str,
        enum_of(words.SendMode),
        about(
            "`direct`: mail is sent; `draft`: it is put into the account's Drafts folder for a "
            "person to send."
        ),
    ]
    writes: Annotated[
        str,
        enum_of(words.WriteMode),
        about(
            "`direct`: a write runs; `effect`: it runs only with the digest of its effect in "
            "`If-Effect`, and is 428 with the effect otherwise; `approve`: it waits until a person "
            "releases it."
        ),
    ]
    requireConnection: Annotated[
        bool,
        about("Whether a write that could go to several accounts must name one; else it is 400."),
    ]
    agentTools: Annotated[
        str,
        enum_of(words.AgentTools),
        about("`graph`: agents also get the tools `graph_schema` and `graph_query`, which reads."),
    ]
    maskMode: Annotated[
        str,
        enum_of(words.MaskMode),
        about(
            "`strict`: filters and orders by hidden fields are refused too; `basic`: they are null."
        ),
    ]
    strictParameters: Annotated[
        bool,
        about(
            "Whether a query parameter that a call does not know is an error, unless the call "
            "states `Prefer: handling=lenient`; tokens of versions before 0.3 have false."
        ),
    ]
    quota: Annotated[TokenQuota | None, about("The token's own limits; null: none.")]
    allowChildren: Annotated[
        bool, about("Whether the holder may create child tokens, which only narrow.")
    ]
    subscriptionsEnabled: Annotated[
        bool, about("Whether the holder may have URLs called when something changed.")
    ]
    documents: Annotated[
        Any,
        about(
            "The only documents that the token runs: `any` call, every `saved` one, or their names."
        ),
        DOCUMENTS,
    ]
    documentsLogOnly: Annotated[
        Any,
        about(
            "As `documents`, but a call that it does not allow is only noted in the decision log."
        ),
        DOCUMENTS,
    ]


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
