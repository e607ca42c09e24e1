"""
The `accessInfo` sentences, which describe a token's restrictions (docs/spec/tokens.md#access-info).

There are warnings for operators as well (docs/spec/tokens.md#warnings). Both are built from
settings alone: no content, no patterns, no ids. For a person who decides about a held write there
are sentences about its effect.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from policy import vocabulary
from policy.grants import Grant

# Hidden word -> the words that may tell it while they are visible. docs/spec/masks.md tells how
# ("What stays of mail and events", "What stays").
_TOLD_BY: Mapping[str, Mapping[StrEnum, tuple[StrEnum, ...]]] = MappingProxyType(
    {
        "email": {
            vocabulary.EmailField.SUBJECT: (vocabulary.EmailField.BODY,),
            vocabulary.EmailField.FROM: (
                vocabulary.EmailField.TO,
                vocabulary.EmailField.BODY,
                vocabulary.EmailField.LABELS,
            ),
            vocabulary.EmailField.TO: (vocabulary.EmailField.BODY,),
            vocabulary.EmailField.CC: (vocabulary.EmailField.BODY,),
            vocabulary.EmailField.BODY_PREVIEW: (vocabulary.EmailField.BODY,),
            vocabulary.EmailField.BODY: (vocabulary.EmailField.BODY_PREVIEW,),
            vocabulary.EmailField.SENT_AT: (
                vocabulary.EmailField.BODY,
                vocabulary.EmailField.RECEIVED_AT,
            ),
            vocabulary.EmailField.RECEIVED_AT: (vocabulary.EmailField.SENT_AT,),
            vocabulary.EmailField.ATTACHMENTS: (vocabulary.EmailField.BODY,),
        },
        "event": {
            vocabulary.CalendarField.LOCATION: (
                vocabulary.CalendarField.TITLE,
                vocabulary.CalendarField.DESCRIPTION,
                vocabulary.CalendarField.JOIN_URL,
            ),
            vocabulary.CalendarField.DESCRIPTION: (vocabulary.CalendarField.JOIN_URL,),
            vocabulary.CalendarField.JOIN_URL: (
                vocabulary.CalendarField.TITLE,
                vocabulary.CalendarField.DESCRIPTION,
                vocabulary.CalendarField.LOCATION,
            ),
            vocabulary.CalendarField.ORGANIZER: (vocabulary.CalendarField.ATTENDEES,),
            vocabulary.CalendarField.STATUS: (vocabulary.CalendarField.TITLE,),
            vocabulary.CalendarField.ATTENDEES: (vocabulary.CalendarField.ORGANIZER,),
        },
        "task": {},
        "collab": {
            vocabulary.CollabField.NAME: (vocabulary.CollabField.WEB_VIEW_LINK,),
            vocabulary.CollabField.PARENT_FOLDER: (vocabulary.CollabField.WEB_VIEW_LINK,),
        },
    }
)

NARROWER = "Single accounts allow less than this."
_COUNTS_HIDDEN_HITS = (
    "`total` of a search counts content that this token may not see, and so reveals its words. "
    "With collabSearchTotals `visible` it does not."
)
_DOES_NOTHING = (
    "This token can do nothing: its settings enable no surface. A preset, or the settings of the "
    "surfaces, enable some."
)


@lru_cache(maxsize=4096)  # equal grants have equal sentences
def access_info(
    surface: vocabulary.Surface, grant: Grant, *, has_block_rules: bool = False
) -> str | None:
    """Describe the restrictions on *surface* in the fixed order; None when there are none."""
    sentences = _SENTENCES[surface](grant)
    if surface is vocabulary.Surface.COLLAB:
        sentences = _collab(grant, has_block_rules=has_block_rules)
    return " ".join(sentences) or None


def child_info(surface: vocabulary.Surface, narrowed: Collection[str]) -> str:
    """Return the sentence about a child token: which of its settings its ancestors narrow."""
    names = [setting for setting in narrowed if _SURFACES.get(setting, surface) is surface]
    if names:
        return f"A child token, narrowed by the token that it was made from: {', '.join(names)}."
    return "A child token, which never allows more than the token that it was made from."


# Setting -> its surface; settings of several surfaces are left out.
_SURFACES: Mapping[str, vocabulary.Surface] = MappingProxyType(
    {
        "emailAccessEnabled": vocabulary.Surface.EMAIL,
        "allowedEmailOperations": vocabulary.Surface.EMAIL,
        "visibleEmailFields": vocabulary.Surface.EMAIL,
        "calendarAccessEnabled": vocabulary.Surface.CALENDAR,
        "calendarAccessLevel": vocabulary.Surface.CALENDAR,
        "visibleCalendarFields": vocabulary.Surface.CALENDAR,
        "timeframePastDays": vocabulary.Surface.CALENDAR,
        "timeframeFutureDays": vocabulary.Surface.CALENDAR,
        "allowedCalendarIds": vocabulary.Surface.CALENDAR,
        "allowedTaskOperations": vocabulary.Surface.TASKS,
        "taskBoards": vocabulary.Surface.TASKS,
        "visibleTaskFields": vocabulary.Surface.TASKS,
        "writableTaskFields": vocabulary.Surface.TASKS,
        "collabAccessEnabled": vocabulary.Surface.COLLAB,
        "allowedCollabOperations": vocabulary.Surface.COLLAB,
        "collabAllowAllDefault": vocabulary.Surface.COLLAB,
        "visibleCollabFields": vocabulary.Surface.COLLAB,
        "collabSearchTotals": vocabulary.Surface.COLLAB,
    }
)


def warnings(grant: Grant, *, has_block_rules: bool) -> list[str]:
    """Return sentences about what *grant* reveals though it is hidden, and of a useless grant."""
    sentences: list[str] = []
    uses_email = grant.email_enabled and grant.email_operations
    uses_collab = grant.collab_enabled and grant.collab_operations
    if not (uses_email or grant.calendar_enabled or grant.task_operations or uses_collab):
        sentences.append(_DOES_NOTHING)
    if uses_email:
        sentences += _telling("email", grant.visible_email_fields)
    if grant.calendar_enabled and _shows_events(grant):
        sentences += _telling("event", grant.visible_calendar_fields)
    if uses_collab:
        sentences += _telling("collab", grant.visible_collab_fields)
    is_restricted = has_block_rules or not grant.collab_allow_all
    counts_hidden_hits = (
        grant.collab_enabled
        and vocabulary.CollabOp.SEARCH_CONTENT in grant.collab_operations
        and grant.collab_search_totals is vocabulary.SearchTotals.UNFILTERED
    )
    if is_restricted and counts_hidden_hits:
        sentences.append(_COUNTS_HIDDEN_HITS)
    return sentences


def _shows_events(grant: Grant) -> bool:
    return grant.calendar_level is not vocabulary.CalendarAccessLevel.FREE_BUSY_ONLY


def _email(grant: Grant) -> Iterable[str]:
    missing = [op for op in vocabulary.EmailOp if op not in grant.email_operations]
    if not grant.email_operations - set(vocabulary.EMAIL_VIEWS):
        yield (
            "Read-only email access: sending, replying, forwarding, deleting and changing "
            "messages are not allowed."
        )
        missing = [
            op for op in missing if op in vocabulary.EMAIL_READS
        ]  # the sentence covers the others
    if missing:
        yield f"Not allowed on email: {', '.join(missing)}."
    if grant.recipients is not None:
        yield "Mail is sent only to recipients that this token's rules allow."
    if grant.send_mode is vocabulary.SendMode.DRAFT:
        yield "Mail is put into the Drafts folder for a person to send."
    yield from _effects(grant, writes=grant.email_operations - set(vocabulary.EMAIL_VIEWS))
    yield from _mask("email", vocabulary.EmailField, grant.visible_email_fields)


def _calendar(grant: Grant) -> Iterable[str]:
    if grant.past_days is not None or grant.future_days is not None:
        past = "any past date" if grant.past_days is None else f"last {grant.past_days} days"
        future = (
            "any future date" if grant.future_days is None else f"next {grant.future_days} days"
        )
        yield f"Results limited to time window: {past} to {future}."
    if not _shows_events(grant):
        yield "Only free/busy times are visible."
    if grant.calendar_ids is not None:
        yield "Only selected calendars are visible."
    shown = _shows_events(grant)
    yield from _mask("event", vocabulary.CalendarField, grant.visible_calendar_fields, shown=shown)


def _tasks(grant: Grant) -> Iterable[str]:
    # `manage_groups` is reserved for future use: alone it allows no write.
    writes = grant.task_operations - {*vocabulary.TASK_READS, vocabulary.TaskOp.MANAGE_GROUPS}
    if not writes:
        yield "Read-only task access."
    if grant.task_boards is not None:
        yield "Only selected boards are visible."
    if grant.recipients is not None:
        yield "People columns take only recipients that this token's rules allow."
    yield from _effects(grant, writes=writes)
    yield from _mask("task", vocabulary.TaskField, grant.visible_task_fields)


def _collab(grant: Grant, *, has_block_rules: bool = False) -> Iterable[str]:
    if not grant.collab_operations - set(vocabulary.COLLAB_READS):
        yield "Read-only access to collaboration content."
    if not grant.collab_allow_all:
        yield "Only content matching this token's allow rules is visible."
    elif has_block_rules:
        yield "Some content is blocked by this token's rules."
    if grant.recipients is not None:
        yield "Files are shared only with recipients that this token's rules allow."
    yield from _effects(grant, writes=grant.collab_operations - set(vocabulary.COLLAB_READS))
    yield from _mask("collab", vocabulary.CollabField, grant.visible_collab_fields)


def _effects(grant: Grant, *, writes: Collection[StrEnum]) -> Iterable[str]:
    """Say how a token that may do *writes* confirms them; nothing where it writes at once."""
    if writes and grant.write_mode is vocabulary.WriteMode.EFFECT:
        yield "A write runs only when If-Effect names the effect that was shown before."
    if writes and grant.write_mode is vocabulary.WriteMode.APPROVE:
        yield "A write waits until a person releases it."


_SENTENCES: Mapping[vocabulary.Surface, Callable[[Grant], Iterable[str]]] = MappingProxyType(
    {
        vocabulary.Surface.EMAIL: _email,
        vocabulary.Surface.CALENDAR: _calendar,
        vocabulary.Surface.TASKS: _tasks,
        vocabulary.Surface.COLLAB: _collab,
    }
)


def _mask(
    kind: str, words: Iterable[StrEnum], visible: Collection[StrEnum], *, shown: bool = True
) -> Iterable[str]:
    """
    Name the hidden words, and those that visible ones may tell if any are *shown*.

    The word of `connectionId`, which no body of REST has, is left out
    (docs/spec/tokens.md#access-info).
    """
    hidden = [word for word in words if word not in visible and word != "connection_id"]
    if hidden:
        title = "Hidden fields" if kind == "collab" else f"Hidden {kind} fields"
        yield f"{title}: {', '.join(hidden)}."
    if shown:
        yield from _telling(kind, visible)


def _telling(kind: str, visible: Collection[StrEnum]) -> Iterable[str]:
    """Name the hidden words that visible ones may tell; nothing when there are none."""
    pairs = []
    for hidden, sources in _TOLD_BY[kind].items():
        telling = [word for word in sources if word in visible and hidden not in visible]
        if telling:
            pairs.append(f"{hidden} (in {', '.join(telling)})")
    if pairs:
        yield f"Visible {kind} fields may still show hidden ones: {', '.join(pairs)}."


# -- what a held write would do --------------------------------------------------------------------

MAX_TEXT = 4_000  # characters of one text of an argument
MAX_ITEMS = 50  # of a list

WRITE_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "sendEmail": "Send a message.",
        "replyToEmail": "Reply to a message.",
        "forwardEmail": "Forward a message.",
        "deleteEmail": "Move a message to the trash.",
        "modifyEmail": "Change a message.",
        "createDraft": "Write a draft.",
        "updateDraft": "Change a draft.",
        "deleteDraft": "Delete a draft.",
        "sendDraft": "Send a draft.",
        "createTaskItem": "Create a task.",
        "updateTaskItem": "Change a task.",
        "deleteTaskItem": "Delete a task.",
        "addTaskComment": "Comment on a task.",
        "uploadFile": "Upload a file.",
        "createFolder": "Create a folder.",
        "renameFile": "Rename a file or folder.",
        "moveFile": "Move a file or folder.",
        "deleteFile": "Move a file or folder to the recycle bin.",
        "shareFile": "Share a file or folder.",
        "updateFilePermission": "Change with what rights a file is shared.",
        "deleteFilePermission": "Stop sharing a file with somebody.",
        "createListItem": "Create an item of a list.",
        "updateListItem": "Change an item of a list.",
        "deleteListItem": "Delete an item of a list.",
    }
)


def describe_write(operation: str, effect: Mapping[str, Any]) -> list[str]:
    """Return what the write of *effect* would do, one sentence for each of its members."""
    return list(_sentences_of(operation, effect))


def _sentences_of(operation: str, effect: Mapping[str, Any]) -> Iterator[str]:
    yield WRITE_TITLES.get(operation, f"Run {operation}.")
    if account := effect.get("account"):
        yield f"By the account {account['email']} (connection {account['connectionId']})."
    yield from _recipients(effect.get("recipients") or {})
    if "subject" in effect:
        yield f"Subject: {_text(effect['subject'])}"
    if files := effect.get("attachments"):
        yield f"Attached: {_listed([_file(file) for file in files])}."
    if target := effect.get("target"):
        yield f"It concerns the {_resource(target)}."
    if destination := effect.get("destination"):
        yield f"It goes to the {_resource(destination)}."
    for change in (effect.get("changes") or ())[:MAX_ITEMS]:
        yield f"{change['field']}: {_text(change['from'])} becomes {_text(change['to'])}"
    if taken := effect.get("takenNames"):
        yield f"There is already: {_listed([_text(name) for name in taken])}."


def _recipients(recipients: Mapping[str, Any]) -> Iterator[str]:
    if "hidden" in recipients:
        yield f"To {recipients['hidden']} people whom the token may not see."
    for header, label in (("to", "To"), ("cc", "Copy to"), ("bcc", "Hidden copy to")):
        if people := recipients.get(header):
            yield f"{label} {_listed([each['email'] for each in people])}."


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - MAX_ITEMS} more" if len(items) > MAX_ITEMS else ""
    return ", ".join(items[:MAX_ITEMS]) + more


def _file(file: Mapping[str, Any]) -> str:
    size = "" if file["size"] is None else f" ({file['size']} bytes)"
    return f"{file['name']}{size}"


def _resource(resource: Mapping[str, Any]) -> str:
    name = resource.get("name")
    return f"{resource.get('kind')} {_text(name)}" if name else f"{resource.get('kind')}"


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    return str(shortened(value if isinstance(value, str) else str(value)))


def shortened(value: Any) -> Any:
    """Return *value* with long texts and lists cut, and a mark where something is left out."""
    if isinstance(value, str):
        cut = f"{value[:MAX_TEXT]}… (cut, {len(value)} characters)"
        return value if len(value) <= MAX_TEXT else cut
    if isinstance(value, Mapping):
        return {name: shortened(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        more = [f"… and {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else []
        return [*map(shortened, value[:MAX_ITEMS]), *more]
    return value
