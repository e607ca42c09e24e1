"""The `accessInfo` sentences (docs/spec/tokens.md#access-info), row by row."""

import re

import pytest
from paths import REPOSITORY

from policy.describe import access_info, warnings
from policy.grants import Grant, validate
from policy.vocabulary import CalendarField, EmailField, Surface

READ_ONLY_EMAIL = (
    "Read-only email access: sending, replying, forwarding, deleting and changing messages "
    "are not allowed."
)
ROWS = {
    "all of email": (Surface.EMAIL, {"allowedEmailOperations": ["all"]}, None),
    "reading email": (Surface.EMAIL, {"allowedEmailOperations": ["read_only"]}, READ_ONLY_EMAIL),
    "reading some email": (
        Surface.EMAIL,
        {"allowedEmailOperations": ["view_email"]},
        READ_ONLY_EMAIL + " Not allowed on email: search_emails, view_thread.",
    ),
    "writing some email": (
        Surface.EMAIL,
        {"allowedEmailOperations": ["search_emails", "view_email", "send_email"]},
        "Not allowed on email: view_thread, reply_to_email, forward_email, delete_email, "
        "mark_as_read, apply_labels, view_drafts, write_drafts, search_contacts, search_directory.",
    ),
    "hidden email fields": (
        Surface.EMAIL,
        {
            "allowedEmailOperations": ["all"],
            "visibleEmailFields": [
                "subject", "from", "cc", "bcc", "body_preview", "sent_at", "received_at",
                "labels", "importance",
            ],
        },
        "Hidden email fields: to, body, attachments. "
        "Visible email fields may still show hidden ones: body (in body_preview).",
    ),
    "recipient rules on email": (
        Surface.EMAIL,
        {"allowedEmailOperations": ["all"], "recipientRules": {"allow": ["bo@work.example"]}},
        "Mail is sent only to recipients that this token's rules allow.",
    ),
    "draft mode": (
        Surface.EMAIL,
        {"allowedEmailOperations": ["all"], "sendMode": "draft"},
        "Mail is put into the Drafts folder for a person to send.",
    ),
    "effects of mail": (
        Surface.EMAIL,
        {"allowedEmailOperations": ["all"], "writes": "effect"},
        "A write runs only when If-Effect names the effect that was shown before.",
    ),
    "effects of no write": (
        Surface.TASKS,
        {"allowedTaskOperations": ["read_only"], "writes": "effect"},
        "Read-only task access.",
    ),
    "recipient rules on tasks": (
        Surface.TASKS,
        {"allowedTaskOperations": ["all"], "recipientRules": {}},
        "People columns take only recipients that this token's rules allow.",
    ),
    "recipient rules on content": (
        Surface.COLLAB,
        {
            "allowedCollabOperations": ["all"],
            "collabAllowAllDefault": True,
            "recipientRules": {"allow": ["*"]},
        },
        "Files are shared only with recipients that this token's rules allow.",
    ),
    "all of the calendar": (Surface.CALENDAR, {}, None),
    "a past window": (
        Surface.CALENDAR,
        {"timeframePastDays": 30},
        "Results limited to time window: last 30 days to any future date.",
    ),
    "a future window": (
        Surface.CALENDAR,
        {"timeframeFutureDays": 0},
        "Results limited to time window: any past date to next 0 days.",
    ),
    "everything on the calendar": (
        Surface.CALENDAR,
        {
            "timeframePastDays": 1,
            "timeframeFutureDays": 2,
            "calendarAccessLevel": "free_busy_only",
            "allowedCalendarIds": [1],
            "visibleCalendarFields": ["times", "status", "title", "location", "recurrence"],
        },
        "Results limited to time window: last 1 days to next 2 days. "
        "Only free/busy times are visible. Only selected calendars are visible. "
        "Hidden event fields: description, organizer, attendees, join_url, labels.",
    ),
    "all of tasks": (Surface.TASKS, {"allowedTaskOperations": ["all"]}, None),
    "reading tasks": (
        Surface.TASKS,
        {"allowedTaskOperations": ["read_only"], "taskBoards": [{"boardId": "1"}]},
        "Read-only task access. Only selected boards are visible.",
    ),
    "hidden task fields": (
        Surface.TASKS,
        {"allowedTaskOperations": ["create_items"], "visibleTaskFields": ["name"]},
        "Hidden task fields: status, assignees, due_date, priority, labels, description, "
        "comments, column_values, sub_items, created_time, modified_time, web_link.",
    ),
    "all of collab": (
        Surface.COLLAB,
        {"allowedCollabOperations": ["all"], "collabAllowAllDefault": True},
        None,
    ),
    "collab by default": (
        Surface.COLLAB,
        {},
        "Read-only access to collaboration content. "
        "Only content matching this token's allow rules is visible.",
    ),
    "hidden collab fields": (
        Surface.COLLAB,
        {
            "allowedCollabOperations": ["all"],
            "collabAllowAllDefault": True,
            "visibleCollabFields": ["name"],
        },
        "Hidden fields: mime_type, size, created_time, modified_time, owners, shared_with, "
        "description, web_view_link, download_link, parent_folder, sensitivity_label, "
        "site_name, list_name, content_type, field_values.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_the_sentences_match_the_decision_table(row):
    surface, settings, expected = ROWS[row]

    assert access_info(surface, Grant.read(validate(settings))) == expected


def test_block_rules_are_mentioned_only_where_everything_else_is_allowed():
    everything = {"allowedCollabOperations": ["all"], "collabAllowAllDefault": True}

    open_grant = Grant.read(validate(everything))
    closed_grant = Grant.read(validate({**everything, "collabAllowAllDefault": False}))

    assert (
        access_info(Surface.COLLAB, open_grant, has_block_rules=True)
        == "Some content is blocked by this token's rules."
    )
    assert (
        access_info(Surface.COLLAB, closed_grant, has_block_rules=True)
        == "Only content matching this token's allow rules is visible."
    )


def pairs_of_the_specification():
    """Return hidden word -> words that may tell it, from the table of docs/spec/masks.md."""
    section = (REPOSITORY / "docs/spec/masks.md").read_text()
    section = section.partition("### What stays of mail and events\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", section, re.MULTILINE)
    pairs = {}
    for names, sentence in rows:
        words = {re.sub("s$", "", word) for word in re.findall(r"\w+", sentence)}
        telling = {word for word in [*EmailField, *CalendarField] if word.rstrip("s") in words}
        for hidden in re.findall(r"`(\w+)`", names):
            pairs.setdefault(hidden, set()).update(telling - {hidden})
    return pairs


@pytest.mark.parametrize(
    ("kind", "setting", "words"),
    [
        ("email", "visibleEmailFields", EmailField),
        ("event", "visibleCalendarFields", CalendarField),
    ],
)
def test_every_pair_of_the_specification_is_a_warning(kind, setting, words):
    pairs = pairs_of_the_specification()
    for hidden in words:
        settings = {
            "emailAccessEnabled": True,
            "allowedEmailOperations": ["all"],
            "calendarAccessEnabled": True,
            "calendarAccessLevel": "view_only",
            setting: [word for word in words if word != hidden],
        }
        telling = {
            word.strip(",)(")
            for sentence in warnings(Grant.read(settings), has_block_rules=False)
            for word in sentence.partition(f": {hidden} (in ")[2].rstrip(").").split(", ")
        }
        expected = pairs.get(hidden, set()) & set(words)
        assert telling == expected, hidden
