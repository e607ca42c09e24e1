"""
Every word of the API: surfaces, operations, composites, mask words, rule types, codes, layers.

No other module spells these words as text. They are specified in docs/spec/tokens.md,
docs/spec/masks.md, docs/spec/rules.md and docs/spec/errors.md.
"""

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

Op = TypeVar("Op", bound=StrEnum)


class Surface(StrEnum):
    """The four parts of the API, each with its own switch or flags."""

    EMAIL = "email"
    CALENDAR = "calendar"
    TASKS = "tasks"
    COLLAB = "collab"


class TaskProvider(StrEnum):
    """The `provider` codes of tasks (docs/spec/tasks.md#choosing-the-provider)."""

    BOARDS = "BOARDS"
    PROJECTS = "PROJECTS"


class EmailOp(StrEnum):
    """`allowedEmailOperations` (docs/spec/tokens.md#email-operations)."""

    SEARCH_EMAILS = "search_emails"
    VIEW_EMAIL = "view_email"
    VIEW_THREAD = "view_thread"
    SEND_EMAIL = "send_email"
    REPLY_TO_EMAIL = "reply_to_email"
    FORWARD_EMAIL = "forward_email"
    DELETE_EMAIL = "delete_email"
    MARK_AS_READ = "mark_as_read"
    APPLY_LABELS = "apply_labels"
    VIEW_DRAFTS = "view_drafts"
    WRITE_DRAFTS = "write_drafts"
    SEARCH_CONTACTS = "search_contacts"
    SEARCH_DIRECTORY = "search_directory"


class CalendarOp(StrEnum):
    """Operations of the calendar, allowed by `calendarAccessLevel` rather than flags."""

    VIEW_EVENTS = "view_events"
    VIEW_FREE_BUSY = "view_free_busy"
    LIST_CALENDARS = "list_calendars"


class TaskOp(StrEnum):
    """`allowedTaskOperations` (docs/spec/tokens.md#task-operations)."""

    VIEW_BOARDS = "view_boards"
    VIEW_ITEMS = "view_items"
    VIEW_COMMENTS = "view_comments"
    CREATE_ITEMS = "create_items"
    UPDATE_ITEMS = "update_items"
    DELETE_ITEMS = "delete_items"
    ADD_COMMENTS = "add_comments"
    MANAGE_GROUPS = "manage_groups"


class CollabOp(StrEnum):
    """`allowedCollabOperations` (docs/spec/tokens.md#collaboration-operations)."""

    LIST_FILES = "list_files"
    SEARCH_FILES = "search_files"
    GET_FILE_METADATA = "get_file_metadata"
    DOWNLOAD_FILE = "download_file"
    UPLOAD_FILE = "upload_file"
    CREATE_FOLDER = "create_folder"
    RENAME_FILE = "rename_file"
    MOVE_FILE = "move_file"
    DELETE_FILE = "delete_file"
    SHARE_FILE = "share_file"
    UPDATE_PERMISSIONS = "update_permissions"
    READ_SITES = "read_sites"
    READ_LISTS = "read_lists"
    READ_LIST_ITEM = "read_list_item"
    WRITE_LIST_ITEM = "write_list_item"
    DELETE_LIST_ITEM = "delete_list_item"
    READ_SENSITIVITY_LABELS = "read_sensitivity_labels"
    SEARCH_CONTENT = "search_content"


Operation = EmailOp | CalendarOp | TaskOp | CollabOp

ALL = "all"
READ_ONLY = "read_only"

EMAIL_READS = (EmailOp.SEARCH_EMAILS, EmailOp.VIEW_EMAIL, EmailOp.VIEW_THREAD)
EMAIL_VIEWS = (  # what writes nothing
    *EMAIL_READS,
    EmailOp.VIEW_DRAFTS,
    EmailOp.SEARCH_CONTACTS,
    EmailOp.SEARCH_DIRECTORY,
)
TASK_READS = (TaskOp.VIEW_BOARDS, TaskOp.VIEW_ITEMS, TaskOp.VIEW_COMMENTS)
COLLAB_READS = (
    CollabOp.LIST_FILES,
    CollabOp.SEARCH_FILES,
    CollabOp.GET_FILE_METADATA,
    CollabOp.DOWNLOAD_FILE,
    CollabOp.READ_SITES,
    CollabOp.READ_LISTS,
    CollabOp.READ_LIST_ITEM,
    CollabOp.READ_SENSITIVITY_LABELS,
    CollabOp.SEARCH_CONTENT,
)

# Composite -> the flags that it stands for, in the order of the specification.
EMAIL_COMPOSITES: Mapping[str, tuple[EmailOp, ...]] = MappingProxyType(
    {READ_ONLY: EMAIL_READS, ALL: tuple(EmailOp)}
)
TASK_COMPOSITES: Mapping[str, tuple[TaskOp, ...]] = MappingProxyType(
    {READ_ONLY: TASK_READS, ALL: tuple(TaskOp)}
)
COLLAB_COMPOSITES: Mapping[str, tuple[CollabOp, ...]] = MappingProxyType(
    {
        READ_ONLY: COLLAB_READS,
        "write_file": (CollabOp.UPLOAD_FILE, CollabOp.CREATE_FOLDER),
        "edit_file": (CollabOp.RENAME_FILE, CollabOp.MOVE_FILE),
        "write_list": (CollabOp.WRITE_LIST_ITEM, CollabOp.DELETE_LIST_ITEM),
        ALL: tuple(CollabOp),
    }
)


class EmailField(StrEnum):
    """`visibleEmailFields` (docs/spec/masks.md#email-fields)."""

    SUBJECT = "subject"
    FROM = "from"
    TO = "to"
    CC = "cc"
    BCC = "bcc"
    BODY_PREVIEW = "body_preview"
    BODY = "body"
    SENT_AT = "sent_at"
    RECEIVED_AT = "received_at"
    ATTACHMENTS = "attachments"
    LABELS = "labels"
    IMPORTANCE = "importance"
    CONNECTION_ID = "connection_id"


class CalendarField(StrEnum):
    """`visibleCalendarFields` (docs/spec/masks.md#calendar-fields)."""

    TITLE = "title"
    DESCRIPTION = "description"
    LOCATION = "location"
    TIMES = "times"
    STATUS = "status"
    ORGANIZER = "organizer"
    ATTENDEES = "attendees"
    JOIN_URL = "join_url"
    LABELS = "labels"
    RECURRENCE = "recurrence"
    CONNECTION_ID = "connection_id"


class TaskField(StrEnum):
    """`visibleTaskFields` (docs/spec/masks.md#task-fields)."""

    NAME = "name"
    STATUS = "status"
    ASSIGNEES = "assignees"
    DUE_DATE = "due_date"
    PRIORITY = "priority"
    LABELS = "labels"
    DESCRIPTION = "description"
    COMMENTS = "comments"
    COLUMN_VALUES = "column_values"
    SUB_ITEMS = "sub_items"
    CREATED_TIME = "created_time"
    MODIFIED_TIME = "modified_time"
    WEB_LINK = "web_link"
    CONNECTION_ID = "connection_id"


class CollabField(StrEnum):
    """`visibleCollabFields` (docs/spec/masks.md#collab-fields)."""

    NAME = "name"
    MIME_TYPE = "mime_type"
    SIZE = "size"
    CREATED_TIME = "created_time"
    MODIFIED_TIME = "modified_time"
    OWNERS = "owners"
    SHARED_WITH = "shared_with"
    DESCRIPTION = "description"
    WEB_VIEW_LINK = "web_view_link"
    DOWNLOAD_LINK = "download_link"
    PARENT_FOLDER = "parent_folder"
    SENSITIVITY_LABEL = "sensitivity_label"
    SITE_NAME = "site_name"
    LIST_NAME = "list_name"
    CONTENT_TYPE = "content_type"
    FIELD_VALUES = "field_values"
    CONNECTION_ID = "connection_id"


Field = EmailField | CalendarField | TaskField | CollabField


class WordType(NamedTuple):
    """The surface that operations or mask words belong to, and the token setting about them."""

    surface: Surface
    setting: str


WORD_TYPES: Mapping[type, WordType] = MappingProxyType(
    {
        EmailOp: WordType(Surface.EMAIL, "allowedEmailOperations"),
        CalendarOp: WordType(Surface.CALENDAR, "calendarAccessLevel"),
        TaskOp: WordType(Surface.TASKS, "allowedTaskOperations"),
        CollabOp: WordType(Surface.COLLAB, "allowedCollabOperations"),
        EmailField: WordType(Surface.EMAIL, "visibleEmailFields"),
        CalendarField: WordType(Surface.CALENDAR, "visibleCalendarFields"),
        TaskField: WordType(Surface.TASKS, "visibleTaskFields"),
        CollabField: WordType(Surface.COLLAB, "visibleCollabFields"),
    }
)


class CalendarAccessLevel(StrEnum):
    """`calendarAccessLevel` (docs/spec/calendar.md#access-levels)."""

    FREE_BUSY_ONLY = "free_busy_only"
    VIEW_FILTERED = "view_filtered"
    VIEW_ONLY = "view_only"
    FULL_ACCESS = "full_access"


class MaskMode(StrEnum):
    """`maskMode`: `strict` also forbids inference (docs/spec/masks.md#no-inference)."""

    STRICT = "strict"
    BASIC = "basic"


class SearchTotals(StrEnum):
    """`collabSearchTotals`: what `total` of a search counts (docs/spec/collab.md#search-totals)."""

    UNFILTERED = "unfiltered"
    VISIBLE = "visible"


class SendMode(StrEnum):
    """`sendMode`: `draft` leaves the sending to a person (docs/spec/email.md#draft-mode)."""

    DIRECT = "direct"
    DRAFT = "draft"


class WriteMode(StrEnum):
    """
    `writes`, from the widest: `effect` asks for the effect of a write, `approve` for a person.

    See docs/spec/dry-run.md#required-effects and docs/spec/held-writes.md.
    """

    DIRECT = "direct"
    EFFECT = "effect"
    APPROVE = "approve"


class HeldState(StrEnum):
    """
    State of a held write: `held` waits, `releasing` runs (docs/spec/held-writes.md).

    Each is entered once, and none of the last five is left. `unknown`: it may have been done.
    """

    HELD = "held"
    RELEASING = "releasing"
    DONE = "done"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class AgentTools(StrEnum):
    """`agentTools`: `graph` adds the tools of the graph (docs/spec/agents.md#graph)."""

    TOOLS = "tools"
    GRAPH = "graph"


class RuleType(StrEnum):
    """`ruleType` of a collab rule (docs/spec/rules.md#rule-types)."""

    FILE_ID = "file_id"
    FOLDER = "folder"
    DRIVE_ID = "drive_id"
    SITE_ID = "site_id"
    LIST_ID = "list_id"
    LIST_ITEM_ID = "list_item_id"
    MIME_TYPE = "mime_type"
    SENSITIVITY_LABEL_ID = "sensitivity_label_id"
    CONTENT_TYPE_ID = "content_type_id"


class RuleAction(StrEnum):
    ALLOW = "allow"
    BLOCK = "block"


class UnauthorizedReason(StrEnum):
    """`reason` of a 401 (docs/spec/errors.md#reasons-of-a-401)."""

    MISSING_HEADER = "MISSING_HEADER"
    MALFORMED_HEADER = "MALFORMED_HEADER"
    UNKNOWN_TOKEN = "UNKNOWN_TOKEN"  # noqa: S105 - the name of a reason, not a secret
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"
    WRONG_AUDIENCE = "WRONG_AUDIENCE"


class Code(StrEnum):
    """Every error code of REST and GraphQL (docs/spec/errors.md#codes-and-statuses)."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    INVALID_PARAMETER = "INVALID_PARAMETER"
    MISSING_PARAMETER = "MISSING_PARAMETER"
    INVALID_RANGE = "INVALID_RANGE"
    INVALID_PAGE_TOKEN = "INVALID_PAGE_TOKEN"  # noqa: S105 - an error code
    INVALID_CURSOR = "INVALID_CURSOR"
    INVALID_ID = "INVALID_ID"
    INVALID_QUERY = "INVALID_QUERY"
    INVALID_FILTER = "INVALID_FILTER"
    INVALID_FIELDS = "INVALID_FIELDS"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_DESTINATION = "INVALID_DESTINATION"
    PROVIDER_REQUIRED = "PROVIDER_REQUIRED"
    AMBIGUOUS_ACCOUNT = "AMBIGUOUS_ACCOUNT"
    INVALID_PROVIDER = "INVALID_PROVIDER"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    OPERATION_NOT_ALLOWED = "OPERATION_NOT_ALLOWED"
    ACCESS_DENIED = "ACCESS_DENIED"
    TIMEFRAME_DENIED = "TIMEFRAME_DENIED"
    FIELD_NOT_VISIBLE = "FIELD_NOT_VISIBLE"
    RECIPIENT_NOT_ALLOWED = "RECIPIENT_NOT_ALLOWED"
    DOCUMENT_NOT_ALLOWED = "DOCUMENT_NOT_ALLOWED"
    NO_WRITABLE_FIELDS = "NO_WRITABLE_FIELDS"
    READ_ONLY = "READ_ONLY"
    NO_PROVIDER = "NO_PROVIDER"
    PROVIDER_REFUSED = "PROVIDER_REFUSED"
    ADMIN_REQUIRED = "ADMIN_REQUIRED"
    NOT_FOUND = "NOT_FOUND"
    EVENT_NOT_FOUND = "EVENT_NOT_FOUND"
    CALENDAR_NOT_FOUND = "CALENDAR_NOT_FOUND"
    BLOCKED = "BLOCKED"
    CONNECTION_NOT_FOUND = "CONNECTION_NOT_FOUND"
    TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND"  # noqa: S105 - an error code
    OPERATOR_NOT_FOUND = "OPERATOR_NOT_FOUND"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    RULE_NOT_FOUND = "RULE_NOT_FOUND"
    DOCUMENT_NOT_FOUND = "DOCUMENT_NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    IDEMPOTENCY_IN_PROGRESS = "IDEMPOTENCY_IN_PROGRESS"
    NAME_CONFLICT = "NAME_CONFLICT"
    DUPLICATE_RULE = "DUPLICATE_RULE"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    EFFECT_CHANGED = "EFFECT_CHANGED"
    EFFECT_REQUIRED = "EFFECT_REQUIRED"
    WRITE_HELD = "WRITE_HELD"
    HELD_WRITE_LIMIT = "HELD_WRITE_LIMIT"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    TOO_LARGE = "TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    RANGE_NOT_SATISFIABLE = "RANGE_NOT_SATISFIABLE"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    SENDING_REFUSED = "SENDING_REFUSED"
    EMAIL_NOT_ENABLED = "EMAIL_NOT_ENABLED"
    CALENDAR_NOT_ENABLED = "CALENDAR_NOT_ENABLED"
    COLLAB_NOT_ENABLED = "COLLAB_NOT_ENABLED"
    NO_EMAIL_PROVIDER = "NO_EMAIL_PROVIDER"
    NO_CALENDAR_PROVIDER = "NO_CALENDAR_PROVIDER"
    NO_TASK_PROVIDER = "NO_TASK_PROVIDER"
    NO_COLLAB_PROVIDER = "NO_COLLAB_PROVIDER"
    MAILBOX_LIMIT = "MAILBOX_LIMIT"
    RULE_LIMIT = "RULE_LIMIT"
    UPLOAD_LIMIT = "UPLOAD_LIMIT"
    DOCUMENT_LIMIT = "DOCUMENT_LIMIT"
    TOKEN_LIMIT = "TOKEN_LIMIT"  # noqa: S105 - an error code
    INVALID_RULE_TYPE = "INVALID_RULE_TYPE"
    INVALID_PATTERN = "INVALID_PATTERN"
    INVALID_ACTION = "INVALID_ACTION"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    PROVIDER_ERROR = "PROVIDER_ERROR"
    PROVIDER_TIMEOUT = "PROVIDER_TIMEOUT"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    OVERLOADED = "OVERLOADED"
    GRAPHQL_PARSE_FAILED = "GRAPHQL_PARSE_FAILED"
    GRAPHQL_VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
    QUERY_TOO_COSTLY = "QUERY_TOO_COSTLY"


class Layer(StrEnum):
    """The layers that decide on a call, in order (docs/spec/requests.md#order-of-checks)."""

    ADDRESS_LIMIT = "address_limit"
    TOKEN = "token"  # noqa: S105 - the name of a layer, not a secret
    QUOTA = "quota"
    DOCUMENT = "document"
    SURFACE = "surface"
    CONNECTIONS = "connections"
    OPERATION = "operation"
    INPUT = "input"
    USABLE_CONNECTION = "usable_connection"
    SCOPE = "scope"
    UPSTREAM = "upstream"
    MASK = "mask"


_CODES: Mapping[Layer, tuple[Code, ...]] = {
    Layer.ADDRESS_LIMIT: (Code.RATE_LIMITED, Code.OVERLOADED),
    Layer.TOKEN: (Code.UNAUTHENTICATED, Code.ADMIN_REQUIRED),
    Layer.QUOTA: (),  # has the codes of the address limits
    Layer.DOCUMENT: (Code.DOCUMENT_NOT_ALLOWED,),
    Layer.SURFACE: (Code.EMAIL_NOT_ENABLED, Code.CALENDAR_NOT_ENABLED, Code.COLLAB_NOT_ENABLED),
    Layer.CONNECTIONS: (
        Code.NO_EMAIL_PROVIDER,
        Code.NO_CALENDAR_PROVIDER,
        Code.NO_TASK_PROVIDER,
        Code.NO_COLLAB_PROVIDER,
    ),
    Layer.OPERATION: (Code.OPERATION_NOT_ALLOWED,),
    Layer.INPUT: (
        Code.VALIDATION_ERROR,
        Code.INVALID_PARAMETER,
        Code.MISSING_PARAMETER,
        Code.INVALID_RANGE,
        Code.INVALID_PAGE_TOKEN,
        Code.INVALID_CURSOR,
        Code.INVALID_ID,
        Code.INVALID_QUERY,
        Code.INVALID_FILTER,
        Code.INVALID_FIELDS,
        Code.INVALID_REQUEST,
        Code.INVALID_DESTINATION,
        Code.PROVIDER_REQUIRED,
        Code.AMBIGUOUS_ACCOUNT,
        Code.INVALID_PROVIDER,
        Code.METHOD_NOT_ALLOWED,
        Code.REQUEST_TIMEOUT,
        Code.IDEMPOTENCY_KEY_REUSED,
        Code.IDEMPOTENCY_IN_PROGRESS,
        Code.PAYLOAD_TOO_LARGE,
        Code.TOO_LARGE,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.RANGE_NOT_SATISFIABLE,
        Code.GRAPHQL_PARSE_FAILED,
        Code.GRAPHQL_VALIDATION_FAILED,
        Code.QUERY_TOO_COSTLY,
        # The management API has no later layers.
        Code.TOKEN_NOT_FOUND,
        Code.OPERATOR_NOT_FOUND,
        Code.RESOURCE_NOT_FOUND,
        Code.RULE_NOT_FOUND,
        Code.DOCUMENT_NOT_FOUND,
        Code.DUPLICATE_RULE,
        Code.RULE_LIMIT,
        Code.UPLOAD_LIMIT,
        Code.DOCUMENT_LIMIT,
        Code.TOKEN_LIMIT,
        Code.HELD_WRITE_LIMIT,
        Code.INVALID_RULE_TYPE,
        Code.INVALID_PATTERN,
        Code.INVALID_ACTION,
    ),
    Layer.USABLE_CONNECTION: (
        Code.NO_PROVIDER,
        Code.READ_ONLY,
        Code.CONNECTION_NOT_FOUND,
        Code.MAILBOX_LIMIT,
    ),
    Layer.SCOPE: (
        Code.ACCESS_DENIED,
        Code.TIMEFRAME_DENIED,
        Code.RECIPIENT_NOT_ALLOWED,
        Code.EFFECT_REQUIRED,
        Code.WRITE_HELD,
        Code.BLOCKED,
        Code.CALENDAR_NOT_FOUND,  # unknown or not allowed: `allowedCalendarIds` decides
    ),
    Layer.UPSTREAM: (
        Code.NOT_FOUND,
        Code.EVENT_NOT_FOUND,
        Code.NAME_CONFLICT,
        Code.PRECONDITION_FAILED,
        Code.EFFECT_CHANGED,
        Code.PROVIDER_REFUSED,
        Code.QUOTA_EXCEEDED,
        Code.SENDING_REFUSED,
        Code.INTERNAL_ERROR,
        Code.PROVIDER_ERROR,
        Code.PROVIDER_TIMEOUT,
        Code.OUTCOME_UNKNOWN,
    ),
    Layer.MASK: (Code.FIELD_NOT_VISIBLE, Code.NO_WRITABLE_FIELDS),
}

# Code -> the layer that answers with it. `QUOTA` and `UPSTREAM` answer with `RATE_LIMITED` too; the
# table names the first layer, and the exception itself knows its own.
LAYER_BY_CODE: Mapping[Code, Layer] = MappingProxyType(
    {code: layer for layer, codes in _CODES.items() for code in codes}
)


def expand(
    flags: Iterable[str], composites: Mapping[str, tuple[Op, ...]], operations: type[Op]
) -> tuple[Op, ...]:
    """
    Expand *flags* with their composites into single operations.

    Returns:
        Each operation once, in the order of the specification. A word that is neither an operation
        nor a composite grants nothing.
    """
    by_word = {op.value: op for op in operations}
    granted = set[Op]()
    for flag in flags:
        if flag in composites:
            granted.update(composites[flag])
        elif flag in by_word:
            granted.add(by_word[flag])
    return tuple(op for op in operations if op in granted)


UNKNOWN_NAME = "is not known"  # of a member or parameter


def not_known(names: Iterable[str], *, name: str = "") -> str:
    """
    Return the end of the sentence about an unknown member or parameter; *names* are known.

    It names the one that is most like *name*, if one is.
    """
    known = list(names)
    meant = nearest(name, known)
    hint = f", did you mean '{meant}'?" if meant else ""
    listed = ", ".join(f"'{each}'" for each in known)
    return f"{UNKNOWN_NAME}{hint} (known: {listed or 'none'})"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the one of *known* that is most like the beginning of *name*; "" if none is."""
    return next(iter(difflib.get_close_matches(name[:100], list(known), n=1)), "")


def sentence_about(name: str, reason: str) -> str:
    """Return the sentence that *reason* ends; the name of an unknown member is in quotes."""
    return f"'{name}' {reason}." if reason.startswith(UNKNOWN_NAME) else f"{name} {reason}."
