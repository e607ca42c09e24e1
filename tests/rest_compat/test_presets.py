"""Every documented call by a token of each preset: allowed, or refused with its code."""

import pytest
import whole_world
from twenty_writes import EMAIL, WRITES, filled, upstream_writes

from gateway.http.graphql_call import mutation_rows
from policy.presets import Preset
from rest_compat.table import ENDPOINTS

TOKENS = "/api/access-tokens"
DAY = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
QUERIES = {
    "list_people": {"name": "ana"},
    "list_events_by_contact": {"email": "ada"},
    "get_free_busy": DAY,
    "search_content": {"q": "oars"},
}
# The answers to those who may call: the calendars are empty, and the file is another token's.
NOT_THERE = {
    "get_event": "404 EVENT_NOT_FOUND",
    "delete_uploaded_attachment": "404 NOT_FOUND",
    "get_pending_write": "404 NOT_FOUND",
    **dict.fromkeys(("get_email_attachment_text", "get_file_text"), "415 UNSUPPORTED_MEDIA_TYPE"),
}
UPLOAD = ("POST", f"{EMAIL}/attachments", {"params": {"fileName": "a.txt"}, "content": b"a"})
ROW_OF_WRITE = {row.document: name for name, row in mutation_rows(ENDPOINTS).items()}

EMAIL_READS = {
    "list_emails",
    "get_email",
    "get_email_attachment",
    "get_email_attachment_text",
    "get_email_thread",
    "list_people",
    "list_changes",
}
DRAFTS = {"list_drafts", "get_draft", "create_draft", "update_draft", "delete_draft"}
EMAIL_WRITES = {
    *("upload_email_attachment", "delete_uploaded_attachment"),
    *(
        "send_draft",
        "send_email",
        "reply_to_email",
        "forward_email",
        "delete_email",
        "modify_email",
    ),
}
EVENTS = {"list_events", "list_events_by_contact", "get_event"}
BUSY = {"get_free_busy", "list_calendars"}
TASK_READS = {*("list_task_boards", "get_task_board", "list_task_items", "get_task_item")}
TASK_WRITES = {"create_task_item", "update_task_item", "delete_task_item", "add_task_comment"}
COLLAB_READS = {
    *("list_files", "get_file", "get_file_link", "get_file_text", "list_file_permissions"),
    *("list_sites", "get_site", "list_drives", "list_collab_lists", "get_collab_list"),
    *("list_collab_list_items", "get_collab_list_item"),
    *("list_sensitivity_labels", "get_file_sensitivity_label", "search_content"),
}
COLLAB_WRITES = {
    *("upload_file", "create_folder", "rename_file", "move_file", "delete_file", "share_file"),
    *("update_file_permission", "delete_file_permission"),
    *("create_list_item", "update_list_item", "delete_list_item"),
}
OWN = {"get_access_token", "list_task_providers", "get_pending_write"}  # any token may
CHILDREN = {
    *("create_child_token", "list_child_tokens", "revoke_child_token"),
    *("create_change_subscription", "list_change_subscriptions"),
    *("rotate_change_subscription", "delete_change_subscription"),
}
FEED = {"list_changes"}  # with any listing that it follows
ROWS = {
    *(EMAIL_READS | DRAFTS | EMAIL_WRITES | EVENTS | BUSY | TASK_READS | TASK_WRITES),
    *(COLLAB_READS | COLLAB_WRITES | OWN | CHILDREN),
}

ALLOWED = {
    "reader": EMAIL_READS | EVENTS | BUSY | TASK_READS | COLLAB_READS,
    "drafts": EMAIL_READS | DRAFTS | EMAIL_WRITES - {"delete_email", "modify_email"},
    "sender": {"send_draft", "send_email", "upload_email_attachment", "delete_uploaded_attachment"},
    "calendar-busy": BUSY,
    "tasks": TASK_READS | TASK_WRITES - {"delete_task_item"} | FEED,
    "files-reader": COLLAB_READS | FEED,
    "full": ROWS - CHILDREN - OWN,
}
EMAIL_OFF = dict.fromkeys(EMAIL_READS | DRAFTS | EMAIL_WRITES, "422 EMAIL_NOT_ENABLED")
CALENDAR_OFF = dict.fromkeys(EVENTS | BUSY, "422 CALENDAR_NOT_ENABLED")
TASKS_OFF = dict.fromkeys(TASK_READS | TASK_WRITES, "403 OPERATION_NOT_ALLOWED")
COLLAB_OFF = dict.fromkeys(COLLAB_READS | COLLAB_WRITES, "422 COLLAB_NOT_ENABLED")
NO_MAIL = {row: refusal for row, refusal in EMAIL_OFF.items() if row not in FEED}
REFUSED = {
    "reader": {
        **dict.fromkeys(DRAFTS | EMAIL_WRITES, "403 OPERATION_NOT_ALLOWED"),
        **dict.fromkeys(TASK_WRITES, "403 OPERATION_NOT_ALLOWED"),
        **dict.fromkeys(COLLAB_WRITES, "422 OPERATION_NOT_ALLOWED"),
    },
    "drafts": {
        "delete_email": "403 OPERATION_NOT_ALLOWED",
        "modify_email": "403 OPERATION_NOT_ALLOWED",
        **(CALENDAR_OFF | TASKS_OFF | COLLAB_OFF),
    },
    "sender": {
        **dict.fromkeys(EMAIL_READS | DRAFTS | EMAIL_WRITES, "403 OPERATION_NOT_ALLOWED"),
        **(CALENDAR_OFF | TASKS_OFF | COLLAB_OFF),
    },
    "calendar-busy": {
        **dict.fromkeys(EVENTS, "403 ACCESS_DENIED"),
        **(EMAIL_OFF | TASKS_OFF | COLLAB_OFF),
    },
    "tasks": {
        "delete_task_item": "403 OPERATION_NOT_ALLOWED",
        **(NO_MAIL | CALENDAR_OFF | COLLAB_OFF),
    },
    "files-reader": {
        **dict.fromkeys(COLLAB_WRITES, "422 OPERATION_NOT_ALLOWED"),
        **(NO_MAIL | CALENDAR_OFF | TASKS_OFF),
    },
    "full": {},
}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets")
    with whole_world.opened(world_template, folder / "world") as whole:
        yield whole


def new_token(whole, **members):
    shown = whole.call("GET", f"{TOKENS}/{whole.token_id}")[0].json()
    owner = {name: shown[name] for name in ("operatorId", "resourceIds")}
    return whole.call("POST", TOKENS, json={"name": "preset", **owner, **members})[0]


def called(whole, token, row):
    """Call a row, a write as a dry run; return its status and error code, if it has one."""
    name = row.document.rpartition("/")[2]
    _, path, body = WRITES.get(ROW_OF_WRITE.get(row.document, ""), (row.method, row.path, None))
    if name == "upload_email_attachment":
        path, body = UPLOAD[1:]
    content = filled(whole, body)
    if content is not None and "params" not in content:
        content = {"json": content}
    headers = {"authorization": f"Bearer {token}", "prefer": "dry-run"}
    content = content or {"params": QUERIES.get(name)}
    response, _ = whole.call(row.method, whole.url(path), headers=headers, **content)
    if response.status_code < 400:
        return "allowed"
    code = f"{response.status_code} {response.json()['error']}"
    return "allowed" if code == NOT_THERE.get(name) else code


@pytest.mark.parametrize("preset", [preset.value for preset in Preset])
def test_a_token_of_a_preset_may_call_these_rows_and_no_other(whole, preset):
    token = new_token(whole, preset=preset).json()["token"]
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()

    answers = {
        row.document.rpartition("/")[2]: called(whole, token, row)
        for row in ENDPOINTS
        if row.document.rpartition("/")[2] not in CHILDREN
    }

    allowed = dict.fromkeys(ALLOWED[preset] | OWN, "allowed")
    assert answers == {**REFUSED[preset], **allowed}
    assert upstream_writes(whole) == []


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        pytest.param({"allowedEmailOperations": ["view_email"]}, {"get_email"}, id="another list"),
        pytest.param({"emailAccessEnabled": None}, set(), id="null: the default"),
    ],
)
def test_settings_change_members_of_a_preset(whole, settings, allowed):
    token = new_token(whole, preset="drafts", settings=settings).json()

    rows = {"get_email", "list_emails", "send_email"}
    answers = {
        row.document.rpartition("/")[2]: called(whole, token["token"], row)
        for row in ENDPOINTS
        if row.document.rpartition("/")[2] in rows
    }
    assert {name for name, answer in answers.items() if answer == "allowed"} == allowed
    assert token["settings"]["sendMode"] == "draft"


def test_an_unknown_preset_is_refused_with_the_known_ones(whole):
    refused = new_token(whole, preset="reeder")

    known = "'reader', 'drafts', 'sender', 'calendar-busy', 'tasks', 'files-reader' or 'full'"
    assert refused.status_code == 400
    assert refused.json()["details"] == [{"field": "preset", "message": f"must be one of {known}"}]
