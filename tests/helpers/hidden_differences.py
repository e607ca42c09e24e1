"""Changes of a world with every surface, and tokens that may not see what differs."""

import re
from dataclasses import replace

import content_world
import msgspec
import whole_world

from policy.vocabulary import CalendarField, CollabField, EmailField, TaskField
from sandbox.boards.store import BoardStore
from sandbox.collab import records as r

SETTINGS = {
    "visibleEmailFields": EmailField,
    "visibleCalendarFields": CalendarField,
    "visibleTaskFields": TaskField,
    "visibleCollabFields": CollabField,
}


def shown_without(hidden):
    """Return the settings of a token that may see all fields but *hidden*."""
    return {
        name: [str(word) for word in words if word not in hidden]
        for name, words in SETTINGS.items()
    }


def token(world, settings, rules=()):
    """Make a token with *settings* that *rules*, of a type and a parameter's name, block."""
    return world.runner.run(_token(world, settings, rules))


async def _token(world, settings, rules):
    secret = await world.world.token({**whole_world.SETTINGS, **settings})
    admin = world.world.admin
    listed = await admin.get("/api/access-tokens", params={"limit": 200})
    token_id = max(entry["id"] for entry in listed.json()["tokens"])
    body = [
        {"ruleType": kind, "pattern": world.parameters[name], "action": "block"}
        for kind, name in rules
    ]
    path = f"/api/access-tokens/{token_id}/collab-rules"
    response = await admin.put(path, json={"rules": body})
    assert response.status_code == 200, response.text
    return secret


def change_texts(world):
    """Change what mails, events, items and files say."""
    sandbox = world.world.sandbox
    change_mails(sandbox, rb"\nSubject: ", rb"\nSubject: Amber ")
    change_mails(sandbox, rb"/sites/yard/", rb"/sites/yard/Drawings/")  # which mails link to
    change_events(world.agendas, title="Amber", description="An amber light.")
    boards = BoardStore(sandbox.state.database)
    with sandbox.state.database.transaction():
        for item in boards.items.of(world.parameters["boardId"]):
            boards.items.put(msgspec.structs.replace(item, name=f"Amber {item.name}"))
        for task in world.tasks.projects.tasks.all():
            world.tasks.projects.tasks.put(msgspec.structs.replace(task, name=f"Amber {task.name}"))
    change_records(sandbox, r.Item, description="An amber light.")


def change_people(world):
    """Change who mails, events, items and files are from and for."""
    sandbox = world.world.sandbox
    change_mails(sandbox, rb"\n(From|To|Cc): ", rb"\n\1: Amber <amber@else.example>, ")
    change_events(world.agendas, attendees=(), organiser=None)
    boards = BoardStore(sandbox.state.database)
    with sandbox.state.database.transaction():
        for item in boards.items.of(world.parameters["boardId"]):
            values = {name: value for name, value in item.values.items() if name != "owner"}
            boards.items.put(msgspec.structs.replace(item, values=values))
    change_records(sandbox, r.Item, author=content_world.BOB, editor=content_world.BOB)
    change_records(sandbox, r.Row, author=content_world.BOB, editor=content_world.BOB)


def change_folder(world):
    """Change everything in a folder, and the folder itself."""
    content = world.world.sandbox.state.content
    _, _, drive_id, _, item_id = world.parameters["folderId"].split(":")
    folder = content.item(drive_id, item_id)
    for item in (folder, *content.below(folder)):
        more = {} if item.is_folder else {"size": item.size + 5000}
        content.put(msgspec.structs.replace(item, name=f"other {item.name}", **more))


def change_mails(sandbox, pattern, replacement):
    mails = sandbox.state.mails
    for mailbox in ("provider-a", "provider-b"):
        changed = [
            replace(mail, raw=re.sub(pattern, replacement, mail.raw)) for mail in mails.all(mailbox)
        ]
        mails._index_mails(mailbox, changed)


def change_events(agendas, **values):
    calendars = agendas.world.sandbox.state.calendars
    for event in agendas.events.values():
        calendars.put(replace(event, content=replace(event.content, **values)))


def change_records(sandbox, kind, **values):
    content = sandbox.state.content
    content.put_many(msgspec.structs.replace(kept, **values) for kept in content.every(kind))


# What differs -> at least this share of the documents tells the worlds apart where all is visible;
# otherwise the comparison would see nothing. Few documents read the folder.
SHARES = {"texts": 1 / 5, "people": 1 / 5, "folder": 1 / 20}

# What differs -> the change, and the fields that a token may not see then.
MASKS = {
    "texts": (
        change_texts,
        {
            EmailField.SUBJECT,
            EmailField.BODY,
            EmailField.BODY_PREVIEW,
            CalendarField.TITLE,
            CalendarField.DESCRIPTION,
            TaskField.NAME,
            CollabField.DESCRIPTION,
        },
    ),
    "people": (
        change_people,
        {
            EmailField.FROM,
            EmailField.TO,
            EmailField.CC,
            CalendarField.ATTENDEES,
            CalendarField.ORGANIZER,
            TaskField.ASSIGNEES,
            TaskField.COLUMN_VALUES,
            CollabField.OWNERS,
        },
    ),
}


# Rules that block what `change_folder` changes.
BLOCKS = [("file_id", "folderId"), ("folder", "folderId")]
