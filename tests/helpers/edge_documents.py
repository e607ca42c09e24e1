"""Documents about edges: the objects that have them, and each edge beside its root field."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from graphql import get_named_type, is_leaf_type, is_required_argument

from graph.edge_table import Edge
from graph.edges import edge_of, is_first_entry
from graph.schema import build

_YEARS = 'from: "2025-01-01", to: "2027-12-31", limit: 24'
# Type -> lists that return objects of it, and the response keys that lead to them.
PARENTS = {
    "Email": [
        ("emails(limit: 24) { emails { # } }", "emails.emails"),
        ("emailThread(threadId: $threadId) { messages { # } }", "emailThread.messages"),
    ],
    "Participant": [
        ("emails(limit: 24) { emails { from { # } } }", "emails.emails.from"),
        ("emails(limit: 24) { emails { to { # } } }", "emails.emails.to"),
    ],
    "Attendee": [
        (
            f"calendarEvents({_YEARS}) {{ events {{ attendees {{ # }} }} }}",
            "calendarEvents.events.attendees",
        )
    ],
    "DriveUser": [
        ("collabFiles(limit: 24) { files { owners { # } } }", "collabFiles.files.owners")
    ],
    "Person": [
        ("emails(limit: 5) { emails { from { person { # } } } }", "emails.emails.from.person")
    ],
    "PersonMatch": [('people(name: "example", limit: 24) { people { # } }', "people.people")],
    "LastContact": [
        (
            "emails(limit: 5) { emails { from { person { lastContact { # } } } } }",
            "emails.emails.from.person.lastContact",
        )
    ],
    "ThreadEntry": [("emailThreads(limit: 24) { threads { # } }", "emailThreads.threads")],
    "Links": [
        ("emails(limit: 12, includeBody: true) { emails { links { # } } }", "emails.emails.links"),
        (
            f"calendarEvents({_YEARS}) {{ events {{ related {{ links {{ # }} }} }} }}",
            "calendarEvents.events.related.links",
        ),
    ],
    "TaskItemLink": [
        (
            "emails(limit: 24, includeBody: true) { emails { links { taskItems { # } } } }",
            "emails.emails.links.taskItems",
        )
    ],
    "Related": [
        (
            f"calendarEvents({_YEARS}) {{ events {{ related {{ # }} }} }}",
            "calendarEvents.events.related",
        )
    ],
    "Calendar": [("calendars { calendars { # } }", "calendars.calendars")],
    "TokenConnection": [("accessToken { connections { # } }", "accessToken.connections")],
    "DrivePermission": [
        (
            "collabFilePermissions(fileId: $fileId) { permissions { # } }",
            "collabFilePermissions.permissions",
        )
    ],
    "Event": [(f"calendarEvents({_YEARS}) {{ events {{ # }} }}", "calendarEvents.events")],
    "TaskBoard": [
        (f'taskBoards(provider: "{provider}") {{ boards {{ # }} }}', "taskBoards.boards")
        for provider in ("BOARDS", "PROJECTS")
    ],
    "TaskItem": [
        (f"taskItems(boardId: {board}) {{ items {{ {below} }} }}", f"taskItems.items{path}")
        for board in ('$boardId, provider: "BOARDS"', '$projectId, provider: "PROJECTS"')
        for below, path in (("#", ""), ("subItems { # }", ".subItems"))
    ],
    "DriveFile": [
        ("collabFiles(limit: 24) { files { # } }", "collabFiles.files"),
        ("collabFiles(folderId: $folderId, limit: 24) { files { # } }", "collabFiles.files"),
    ],
    "CollabDrive": [("collabDrives(siteId: $siteId) { drives { # } }", "collabDrives.drives")],
    "CollabSite": [("collabSites { sites { # } }", "collabSites.sites")],
    "CollabList": [
        ("collabLists(siteId: $siteId, includeHidden: true) { lists { # } }", "collabLists.lists")
    ],
    "CollabListItem": [
        (
            f"collabListItems(siteId: $siteId, listId: ${name}, limit: 24) {{ items {{ # }} }}",
            "collabListItems.items",
        )
        for name in ("listId", "libraryId")
    ],
    "CollabSearchHit": [
        (f'collabSearch(q: "{word}", limit: 12) {{ hits {{ # }} }}', "collabSearch.hits")
        for word in ("oar", "berth")
    ],
}
# Type -> the root field that reads an object of it by its id.
_BY_ID = {
    "Email": ("email(emailId: $id) { # }", ""),
    "Person": ("person(email: $id) { # }", ""),
    "Event": ("calendarEvent(eventId: $id) { event { # } }", "event"),
    "TaskBoard": ("taskBoard(boardId: $id, provider: $provider) { board { # } }", "board"),
    "TaskItem": ("taskItem(itemId: $id, provider: $provider) { item { # } }", "item"),
    "DriveFile": ("collabFile(fileId: $id) { file { # } }", "file"),
    "CollabSite": ("collabSite(siteId: $id) { # }", ""),
    "CollabList": ("collabList(siteId: $site_id, listId: $id) { # }", ""),
    "CollabListItem": ("collabListItem(siteId: $site_id, listId: $list_id, itemId: $id) { # }", ""),
}
# Root field -> arguments that an edge to it is given, now and then.
OPTIONS = {
    "emailThreads": ("limit: 2",),
    "links": ("limit: 1",),
    "emails": ("limit: 2", 'subject: "subject 1"', "unread: true", "includeBody: true"),
    "eventSeries": ("limit: 2", "offset: 1"),
    "eventsByContact": ("limit: 1", "offset: 1", "past: true"),
    "freeBusy": ('from: "2026-11-16T00:00:00Z", to: "2026-11-28T00:00:00Z"',),
    "taskItems": ("limit: 2", 'q: "o"', 'status: "done"'),
    "collabFiles": ("limit: 2", 'orderBy: "name"', 'name: "oar"'),
    "collabDrives": ("limit: 1",),
    "collabLists": ("limit: 1", "includeHidden: true"),
    "collabListItems": ("limit: 2", 'orderBy: "Title desc"', 'selectFields: "Title"'),
}
# The same for edges that need more; $-names are ids of the world.
_OPTIONS_BY_EDGE = {"Person.tasks": ("boardId: $boardId", "boardId: $boardId, limit: 1")}
# Type -> the fields that tell the arguments of its edges.
_TELLING = {
    "Email": "threadId body",
    "Event": "organizer attendees { email } startUtc endUtc description",
    "Related": "participants to text",
    "TaskItem": "boardId",
    "DriveFile": "parentFolderId isFolder",
    "CollabDrive": "rootFolderId",
    "CollabSearchHit": "entityType",
}
# Type -> an edge that tells the arguments of others, to a token from which nothing is hidden.
_FACTS = {
    "Event": "fact: calendar { id: calendarId } isRecurringEvent",
    "DriveFile": "fact: listItem { id }",
    "CollabListItem": "fact: file { id }",
    "TaskItem": "fact: parent { id }",
}
# Type whose objects are told apart by address -> the field that has it.
_BY_ADDRESS = {
    "Participant": "email",
    "Attendee": "email",
    "DriveUser": "email",
    "Person": "email",
    "PersonMatch": "email",
    "LastContact": "address",
    "Links": "webUrls",
    "TaskItemLink": "url",
    "Related": "from",
    "Calendar": "accountEmail",
    "TokenConnection": "accountEmail",
    "DrivePermission": "emailAddress",
}
_RANDOM = {"nextPageToken"}  # sealed anew for each answer
_PROJECT_ID = 16  # digits
_OBJECTS, _ROOTS = 9, 19  # of a document: docs/spec/graphql.md#document-limits


@dataclass(frozen=True)
class ParentDocument:
    """
    A document that returns objects of a type.

    Attributes:
        text: Its variables are ids of what is there.
        paths: The response keys that lead to the objects.
    """

    text: str
    paths: tuple[tuple[str, ...], ...]

    def objects(self, data) -> dict[tuple, dict]:
        """Return the objects in *data* by their paths."""
        objects = {}
        for path in self.paths:
            objects |= _objects(data, path)
        return objects


def _objects(data, path) -> dict[tuple, dict]:
    objects = {(): data}
    for key in path:
        below = {}
        for place, entry in objects.items():
            value = (entry or {}).get(key)
            if isinstance(value, list):
                below |= {(*place, key, index): member for index, member in enumerate(value)}
            else:
                below[*place, key] = value
        objects = below
    return {place: entry for place, entry in objects.items() if entry is not None}


def fact_documents(owner: str, variables) -> list[ParentDocument]:
    """Return documents that list objects of a type, with what tells their edges' arguments."""
    return _lists(owner, f"{_telling(owner)} {_FACTS.get(owner, '')}", variables)


def list_documents(edge: Edge, options: str, variables) -> list[ParentDocument]:
    """Return documents that follow *edge* as `edge` from every object of lists."""
    return _lists(edge.owner, _followed(edge, options), variables)


def documents_by_id(edge: Edge, options: str, ids) -> list[ParentDocument]:
    """Return documents that follow *edge* as `edge` from objects that are read by their ids."""
    if edge.owner not in _BY_ID:
        return []
    text, key = _BY_ID[edge.owner]
    documents = []
    for names in _batched(ids, _OBJECTS):
        parts, paths = [], []
        for number, name in enumerate(names):
            call = filled(text, {**_places(name), "id": name, "provider": _task_provider(name)})
            parts.append(f"p{number}: {call.replace('#', _followed(edge, options))}")
            paths.append((f"p{number}", *filter(None, [key])))
        documents.append(ParentDocument(f"{{ {' '.join(parts)} }}", tuple(paths)))
    return documents


def _lists(owner: str, selected: str, variables) -> list[ParentDocument]:
    return [
        ParentDocument(
            f"{{ {filled(text, variables).replace('#', selected)} }}", (tuple(path.split(".")),)
        )
        for text, path in PARENTS[owner]
    ]


def options_for(edge: Edge) -> tuple[str, ...]:
    """Return the arguments that may be written behind *edge*: "" where none are needed."""
    if edge.coordinate in _OPTIONS_BY_EDGE:
        return _OPTIONS_BY_EDGE[edge.coordinate]
    remaining = build().type_map[edge.owner].fields[edge.name].args.values()
    if not remaining:
        return ("",)
    needed = any(map(is_required_argument, remaining))
    return (*(() if needed else ("",)), *OPTIONS.get(edge.root, ()))


def filled(text: str, variables) -> str:
    """Write *variables* into *text* as literals."""
    return re.sub(r"\$(\w+)", lambda match: json.dumps(variables[match[1]]), text)


def _followed(edge: Edge, options: str) -> str:
    field = build().type_map[edge.owner].fields[edge.name]
    named, written = get_named_type(field.type), f"({options})" if options else ""
    return f"{_telling(edge.owner)} edge: {edge.name}{written} {selection(named)}"


def _telling(owner: str) -> str:
    key = f"id: {_BY_ADDRESS[owner]}" if owner in _BY_ADDRESS else "id"
    return f"{key} {_TELLING.get(owner, '')}"


def arguments_of(edge: Edge, entry: dict, reference: dict) -> dict[str, str] | None:
    """
    Return the arguments of *edge* for an object; None where it leads to nothing.

    Args:
        edge: The edge.
        entry: The object as the token sees it.
        reference: The object as a token sees it from which nothing is hidden.
    """
    values = {
        "id": entry["id"],
        "provider": _task_provider(entry["id"] or ""),
        **_values(edge.owner, entry, reference),
    }
    arguments = {name: values.get(attribute) for name, attribute in edge.arguments.items()}
    if edge.sources:  # such an edge is never null
        return {name: value for name, value in arguments.items() if value is not None}
    return None if None in arguments.values() else arguments


def _values(owner: str, entry: dict, reference: dict) -> dict[str, str | None]:
    """Return the attributes that fill arguments, in the words of `graph.edges`."""
    fact = (reference.get("fact") or {}).get("id")
    match owner:
        case "Email":
            return {"thread_id": entry["threadId"], "body": entry["body"] or None}
        case "Related":
            return _values_of_related(entry)
        case "ThreadEntry" | "Links":
            return dict.fromkeys(("id", "web_urls"), entry["id"])
        case "TaskItemLink":
            name = re.findall(r"\d+", entry["id"])[-1]
            return {"item_id": name, "provider": _task_provider(name)}
        case _ if owner in _BY_ADDRESS and owner != "Related":
            names = ("email", "address", "account_email", "email_address")
            return dict.fromkeys(names, entry["id"] or None)
        case "Event":
            recurring = entry["id"] if reference["isRecurringEvent"] else None
            return {"calendar_id": fact, "recurring_id": recurring, **_values_of_event(entry)}
        case "TaskItem":
            return {"board_id": entry["boardId"], "parent_id": fact}
        case "DriveFile":
            return {
                "parent_folder_id": entry["parentFolderId"],
                "drive_id": entry["id"].partition(":item:")[0],
                "folder_id": entry["id"] if entry["isFolder"] else None,
                **(_places(fact) if fact else {}),
            }
        case "CollabDrive":
            return {"root_folder_id": entry["rootFolderId"]}
        case "CollabListItem":
            return {"file_id": fact, **_places(entry["id"])}
        case "CollabSearchHit":
            return _values_of_hit(entry["entityType"], entry["id"])
        case _:
            return _places(entry["id"])


def _values_of_event(entry: dict) -> dict[str, str | None]:
    return {
        "organizer": entry["organizer"],
        "guests": ",".join(guest["email"] for guest in entry["attendees"] or ()) or None,
        "start_utc": entry["startUtc"],
        "end_utc": entry["endUtc"],
        "description": entry["description"],
    }


def _values_of_related(entry: dict) -> dict[str, str | None]:
    start = entry["id"] and datetime.fromisoformat(entry["id"]) - timedelta(milliseconds=1)
    return {
        "addresses": ",".join(entry["participants"] or ()) or None,
        "after": start and start.isoformat(),
        "to": entry["to"],
        "text": entry["text"] or None,
    }


def _task_provider(name: str | None) -> str:
    """Return the provider of a board or item: ids of projects and their tasks are longer."""
    is_project = name is not None and name.isdecimal() and len(name) >= _PROJECT_ID
    return "PROJECTS" if is_project else "BOARDS"


def _values_of_hit(kind: str, name: str) -> dict[str, str | None]:
    places = _places(name)
    if kind == "driveItem":
        return {"file_id": name}
    if kind == "listItem":
        return {
            "list_item_site_id": places["site_id"],
            "list_item_list_id": places["list_id"],
            "list_item_id": name,
        }
    return places


def _places(name: str) -> dict[str, str | None]:
    """Return the ids within the id of a site, list or list item."""
    site, _, rest = name.partition(":list:")
    list_guid = rest.partition(":item:")[0]
    list_id = f"{site}:list:{list_guid}" if rest else None
    return {
        "site_id": site,
        "list_id": list_id,
        "of_list_id": list_id,
        "of_list_item_id": name if ":item:" in rest else None,
    }


def root_documents(edge: Edge, options: str, arguments):
    """
    Yield documents that call the root field of *edge*, and the keys of the calls by their aliases.

    Args:
        edge: The edge.
        options: Arguments of all calls.
        arguments: Those of each call by its key.
    """
    root = build().query_type.fields[edge.root]
    named = get_named_type(root.type)
    if edge.member is not None:
        member = get_named_type(named.fields[edge.member].type)
        below = f"{{ {edge.member} {selection(member)} }}"
    else:
        below = selection(named)
    for keys in _batched(arguments, _ROOTS):
        aliases = {f"r{number}": key for number, key in enumerate(keys)}
        calls = (
            f"{alias}: {edge.root}{_written({**arguments[key], **edge.fixed}, options)} {below}"
            for alias, key in aliases.items()
        )
        yield f"{{ {' '.join(calls)} }}", aliases


def _written(arguments: dict[str, str], options: str) -> str:
    written = [f"{name}: {json.dumps(value)}" for name, value in arguments.items()]
    return f"({', '.join([*written, options])})" if written or options else ""


def selection(type_, levels: int = 3) -> str:
    """Select everything of *type_* but edges, and what changes from answer to answer."""
    parts = []
    for name, field in type_.fields.items():
        named = get_named_type(field.type)
        if edge_of(field) or name in _RANDOM or any(map(is_required_argument, field.args.values())):
            continue
        if is_leaf_type(named):
            parts.append(name)
        elif levels > 1:
            parts.append(f"{name} {selection(named, levels - 1)}")
    return f"{{ {' '.join(parts)} }}"


def followed_value(edge: Edge, value):
    """Return what *edge* leads to in the *value* of its root field."""
    if edge.member is None or value is None:
        return value
    member = value[edge.member]
    return next(iter(member), None) if is_first_entry(edge) else member


def followed_path(edge: Edge, path: list) -> list:
    """Return the path below *edge* of a *path* below its root field."""
    leading = [edge.member, 0] if is_first_entry(edge) else [edge.member]
    return path[len(leading) :] if path[: len(leading)] == leading else path


def _batched(entries, size: int) -> list[list]:
    entries = list(entries)
    return [entries[start : start + size] for start in range(0, len(entries), size)]
