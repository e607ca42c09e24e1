"""
The table of all edges (docs/spec/graphql.md#edges).

An edge is a root field with arguments filled in from the object that it belongs to. Its resolver,
type, arguments, requirement, masks and cost are those of the root field: this table is all that
there is about an edge. See docs/adr/0022-edges-are-root-fields-with-arguments-filled-in.md.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from graph.output_types import masked, visible
from policy.vocabulary import CalendarField, CollabField, EmailField, TaskField


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """
    One edge.

    Attributes:
        coordinate: Where it is in the schema.
        root: The root field that it calls.
        arguments: Argument of the root field -> the attribute of the record that fills it. The
            edge is null where an attribute is None.
        fixed: Argument of the root field -> its value, whatever the record is.
        needs: The attributes that the record must be read with; empty: those of *arguments*.
        omitted: Arguments of the root field that say nothing here: they keep their defaults.
        member: The member of the root field's type to which it leads; None: the whole value. Of a
            list the edge leads to the first entry, and is null without one.
        sources: Argument of *arguments* -> the field of the owner that its value comes from. The
            value is None where the token may not see the field, and such an edge is never null.
        compared: Fields that tell whether the newest page, when it stands above the edge, holds
            what the edge leads to. It is read with these and those selected below the edge.
        shown: Its description, and the mask words that hide it, by `visible` or `masked`.
    """

    coordinate: str
    root: str
    arguments: Mapping[str, str]
    fixed: Mapping[str, Any] = msgspec.field(default_factory=dict)
    needs: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    member: str | None = None
    sources: Mapping[str, str] = msgspec.field(default_factory=dict)
    compared: tuple[str, ...] = ()
    shown: Any

    @property
    def attributes(self) -> Collection[str]:
        """The attributes that the record must be read with."""
        return self.needs or self.arguments.values()

    @property
    def owner(self) -> str:
        """The type that the edge belongs to."""
        return self.coordinate.partition(".")[0]

    @property
    def name(self) -> str:
        """Its name in the type."""
        return self.coordinate.partition(".")[2]


_FILE = MappingProxyType({"fileId": "id"})
_SITE = MappingProxyType({"siteId": "id"})
_ROW_OF_HIT = MappingProxyType(
    {"siteId": "list_item_site_id", "listId": "list_item_list_id", "itemId": "list_item_id"}
)
_LIST = MappingProxyType({"siteId": "site_id", "listId": "list_id"})
_LIST_ITEM = MappingProxyType({**_LIST, "itemId": "list_item_id"})
_TASK = MappingProxyType({"itemId": "task_id", "provider": "provider"})
_LINKED_TASK = MappingProxyType({"itemId": "item_id", "provider": "provider"})
_BOARD = MappingProxyType({"boardId": "id", "provider": "provider"})
_OWN_LIST = MappingProxyType({"siteId": "site_id", "listId": "id"})
_CHANGED_FILE = MappingProxyType({"fileId": "file_id"})
_NOW = "as it is now."
_OF_LIST = "Its list, with the list's columns."

_FILTERS_OF_EMAILS = (
    "q",
    "from",
    "to",
    "subject",
    "label",
    "unread",
    "after",
    "before",
    "hasAttachment",
    "includeBody",
    "pageToken",
)

EDGES: tuple[Edge, ...] = (
    *(
        Edge(
            coordinate=coordinate,
            root=root,
            arguments=arguments,
            member=member,
            shown=visible(text),
        )
        for coordinate, root, arguments, member, text in (
            ("Email.thread", "emailThread", {"threadId": "thread_id"}, None, "Its conversation."),
            ("ThreadEntry.thread", "emailThread", {"threadId": "id"}, None, "The conversation."),
            ("Change.email", "email", {"emailId": "email_id"}, None, f"The message {_NOW}"),
            (
                "Change.event",
                "calendarEvent",
                {"eventId": "event_id"},
                "event",
                f"The event {_NOW}",
            ),
            ("Change.task", "taskItem", _TASK, "item", f"The task item {_NOW}"),
            ("Change.file", "collabFile", _CHANGED_FILE, "file", f"The file or folder {_NOW}"),
            ("Change.listItem", "collabListItem", _LIST_ITEM, None, f"The list item {_NOW}"),
            ("TaskItemLink.item", "taskItem", _LINKED_TASK, "item", "The item."),
            ("CollabListItem.list", "collabList", _LIST, None, _OF_LIST),
            ("TaskBoard.items", "taskItems", _BOARD, None, "A page of its items."),
            ("CollabList.items", "collabListItems", _OWN_LIST, None, "A page of its items."),
        )
    ),
    Edge(
        coordinate="Email.links",
        root="links",
        arguments={"text": "body"},
        shown=masked(
            EmailField.BODY, "What its body names by web addresses; null where no body is read."
        ),
    ),
    Edge(
        coordinate="Links.files",
        root="collabFiles",
        arguments={"webUrls": "web_urls"},
        omitted=("folderId", "siteId", "owner", "sharedWith"),
        shown=visible("A page of the files at the addresses; null where there is no such address."),
    ),
    *(
        Edge(
            coordinate=coordinate,
            root="person",
            arguments={"email": attribute},
            shown=masked(words, "The person with this address; null where there is no address."),
        )
        for coordinate, attribute, words in (
            ("Participant.person", "email", ()),
            ("Attendee.person", "email", ()),
            ("DriveUser.person", "email", ()),
            ("PersonMatch.person", "email", ()),
            ("Event.organizerPerson", "organizer", CalendarField.ORGANIZER),
            ("Calendar.person", "account_email", ()),
            ("DrivePermission.person", "email_address", CollabField.SHARED_WITH),
            ("TokenConnection.person", "account_email", ()),
        )
    ),
    *(
        Edge(
            coordinate=coordinate,
            root="emails",
            arguments={argument: "email"},
            shown=visible(f"A page of the messages {which}."),
        )
        for coordinate, argument, which in (
            ("Person.emails", "participant", "from or to this address, in cc included"),
            ("Person.sent", "from", "from this address"),
            ("Person.received", "to", "to this address, in cc included"),
        )
    ),
    Edge(
        coordinate="Person.threads",
        root="emailThreads",
        arguments={"participant": "email"},
        shown=visible("A page of the conversations with messages from or to this address."),
    ),
    Edge(
        coordinate="Person.events",
        root="eventsByContact",
        arguments={"email": "email"},
        omitted=("name",),
        shown=visible("A page of the events that the person takes part in, latest first."),
    ),
    Edge(
        coordinate="Person.tasks",
        root="taskItems",
        arguments={"assigneeEmail": "email"},
        omitted=("assignee",),
        shown=visible("A page of the items of a board that are assigned to the person."),
    ),
    Edge(
        coordinate="Person.files",
        root="collabFiles",
        arguments={"owner": "email"},
        omitted=("folderId", "siteId", "sharedWith", "webUrls"),
        shown=visible("A page of the files that the person owns."),
    ),
    Edge(
        coordinate="Person.sharedFiles",
        root="collabFiles",
        arguments={"sharedWith": "email"},
        omitted=("folderId", "siteId", "owner", "webUrls"),
        shown=visible("A page of the files that are shared with the person."),
    ),
    Edge(
        coordinate="Person.freeBusy",
        root="freeBusy",
        arguments={"account": "email"},
        omitted=("calendars",),
        shown=visible(
            "When the person's calendars are busy and free, as far as the token may use them; none "
            "where no connected account has this address."
        ),
    ),
    Edge(
        coordinate="Person.lastContact",
        root="lastContact",
        arguments={"email": "email"},
        shown=visible("The newest message and the newest event with the person."),
    ),
    Edge(
        coordinate="LastContact.email",
        root="emails",
        arguments={"participant": "address"},
        fixed={"limit": 1},
        omitted=_FILTERS_OF_EMAILS,
        member="emails",
        compared=("Email.from", "Email.to", "Email.cc"),
        shown=visible("The newest message from or to the person; null where there is none."),
    ),
    Edge(
        coordinate="LastContact.event",
        root="eventsByContact",
        arguments={"email": "address"},
        fixed={"limit": 1, "past": True},
        omitted=("name", "offset"),
        member="events",
        shown=visible(
            "The latest event with the person that has started; null where there is none."
        ),
    ),
    Edge(
        coordinate="Event.calendar",
        root="calendar",
        arguments={"calendarId": "calendar_id"},
        shown=visible("The calendar that it is in."),
    ),
    Edge(
        coordinate="Event.series",
        root="eventSeries",
        arguments={"eventId": "recurring_id"},
        needs=("series",),
        shown=masked(
            CalendarField.RECURRENCE,
            "A page of the other instances near it; null for a single event.",
        ),
    ),
    Edge(
        coordinate="Event.related",
        root="related",
        arguments={
            "participants": "guests",
            "from": "start_utc",
            "to": "end_utc",
            "text": "description",
        },
        needs=("attendees", "start_utc", "end_utc", "description"),
        sources={
            "participants": "Event.attendees",
            "from": "Event.startUtc",
            "to": "Event.endUtc",
            "text": "Event.description",
        },
        shown=visible(
            "Messages with its attendees in its days, and what its description links to."
        ),
    ),
    Edge(
        coordinate="Related.emails",
        root="emails",
        arguments={"participant": "addresses", "after": "after", "before": "to"},
        shown=visible("A page of the messages from or to the participants in these days."),
    ),
    Edge(
        coordinate="Related.links",
        root="links",
        arguments={"text": "text"},
        shown=visible("What the text names by web addresses; null without a text."),
    ),
    Edge(
        coordinate="TaskItem.board",
        root="taskBoard",
        arguments={"boardId": "board_id", "provider": "provider"},
        member="board",
        shown=visible("Its board; of a sub-item, that of its parent."),
    ),
    Edge(
        coordinate="TaskItem.parent",
        root="taskItem",
        arguments={"itemId": "parent_id", "provider": "provider"},
        member="item",
        shown=masked(TaskField.SUB_ITEMS, "Of a sub-item, the item that it belongs to; else null."),
    ),
    Edge(
        coordinate="DriveFile.parent",
        root="collabFile",
        arguments={"fileId": "parent_folder_id"},
        member="file",
        shown=masked(CollabField.PARENT_FOLDER, "The folder that it is in."),
    ),
    Edge(
        coordinate="DriveFile.children",
        root="collabFiles",
        arguments={"folderId": "folder_id"},
        omitted=("siteId", "owner", "sharedWith", "webUrls"),
        shown=visible("A page of the content of a folder; null for a file."),
    ),
    Edge(
        coordinate="DriveFile.drive",
        root="collabDrive",
        arguments={"driveId": "drive_id"},
        needs=("id",),
        shown=visible("The document library that it is in."),
    ),
    Edge(
        coordinate="DriveFile.site",
        root="collabSite",
        arguments={"siteId": "site_id"},
        needs=("site",),
        shown=visible("The site that it belongs to."),
    ),
    Edge(
        coordinate="DriveFile.listItem",
        root="collabListItem",
        arguments={"siteId": "site_id", "listId": "of_list_id", "itemId": "of_list_item_id"},
        needs=("site", "list_id", "list_item_id"),
        shown=visible("Its item in the list of its library, with the columns of that list."),
    ),
    Edge(
        coordinate="DriveFile.text",
        root="collabFileText",
        arguments=_FILE,
        shown=masked(CollabField.DOWNLOAD_LINK, "Its text."),
    ),
    Edge(
        coordinate="DriveFile.permissions",
        root="collabFilePermissions",
        arguments=_FILE,
        member="permissions",
        shown=visible("Its permissions, in the provider's order."),
    ),
    Edge(
        coordinate="DriveFile.sensitivityLabel",
        root="fileSensitivityLabel",
        arguments=_FILE,
        omitted=("refresh",),
        shown=visible("Its sensitivity label, and how it was assigned."),
    ),
    Edge(
        coordinate="CollabDrive.files",
        root="collabFiles",
        arguments={"folderId": "root_folder_id"},
        omitted=("siteId", "owner", "sharedWith", "webUrls"),
        shown=visible("A page of the content of its top folder."),
    ),
    *(
        Edge(coordinate=coordinate, root=root, arguments=_SITE, shown=visible(description))
        for coordinate, root, description in (
            ("CollabSite.drives", "collabDrives", "A page of its document libraries."),
            ("CollabSite.lists", "collabLists", "A page of its lists."),
        )
    ),
    Edge(
        coordinate="CollabListItem.file",
        root="collabFile",
        arguments={"fileId": "file_id"},
        needs=("file",),
        member="file",
        shown=visible("The file or folder behind it; null where there is none."),
    ),
    *(
        Edge(
            coordinate=f"CollabSearchHit.{name}",
            root=root,
            arguments=arguments,
            member="file" if name == "file" else None,
            shown=visible(f"The {what}; null for another type of hit."),
        )
        for name, root, arguments, what in (
            ("file", "collabFile", {"fileId": "file_id"}, "file or folder that was hit"),
            ("listItem", "collabListItem", _ROW_OF_HIT, "list item that was hit"),
            ("list", "collabList", _LIST, "list that was hit"),
            ("site", "collabSite", {"siteId": "site_id"}, "site that was hit, or that of a list"),
        )
    ),
)
