"""
Table of the tools, in the order of docs/spec/agents.md#tools.

A tool exists for a token if one of its documents is in the token's shape; an argument exists if
the shape has what it fills.
"""

from collections.abc import Mapping
from types import MappingProxyType

from agent_tools.rows import Tool, ToolCall, read, write

_READS = MappingProxyType({"readOnlyHint": True})
_PERSON = "{ email name }"
_MAIL = (
    f"id threadId subject from {_PERSON} to {_PERSON} cc {_PERSON} receivedAt isRead "
    "labels hasAttachments attachments { id name contentType size }"
)
_MESSAGE = f"{_MAIL} sentAt importance bcc {_PERSON}"
_EVENT = (
    "id title startUtc endUtc allDay status location organizer attendees { email name response } "
    "description joinUrl labels isRecurringEvent"
)
_ITEM = "id boardId groupId groupName name status assignees dueDate priority labels description"
_WHOLE_ITEM = (
    f"provider item {{ {_ITEM} createdAt updatedAt webUrl subItems {{ id name status }} "
    "comments { id body authorName createdAt } columnValues { columnId columnTitle text } }"
)
_BOARD = "provider board { id name groups { id title } columns { id title type writable options } }"
_FILE = (
    "id name mimeType size isFolder createdTime modifiedTime owners { email displayName role } "
    "description webViewLink parentFolderId parentFolderName"
)
_WHOLE_FILE = (
    f"file {{ {_FILE} sharedWith {{ email displayName role }} labels {{ sensitivityLabelName }} }}"
)
_CONTACT = (
    "lastContact { email { id subject receivedAt } event { id title startUtc } } "
    "emails(limit: 5) { emails { id subject receivedAt } } "
    "events(limit: 5) { events { id title startUtc } }"
)
_ITEM_DONE = "success itemId rejectedFields"
_FILE_DONE = "success fileId"


def _mail_calls() -> Mapping[str, ToolCall]:
    plain, done = {"input.bodyType": "text"}, "success emailId threadId held"
    new = (
        "to:input.to cc:input.cc bcc:input.bcc subject:input.subject body:input.body "
        "connectionId:input.connectionId"
    )
    reply, forward = "id:emailId body:input.body", "to:input.to cc:input.cc"
    everyone = {**plain, "input.replyAll": True}
    return {
        "new": write("sendEmail", new, done, constants=plain),
        "reply": write("replyToEmail", reply, done, constants=plain),
        "reply_all": write("replyToEmail", reply, done, constants=everyone),
        "forward": write("forwardEmail", f"{reply} {forward}", done, constants=plain),
    }


_FIND_MAIL = read(
    "emails",
    "q from to subject label unread after before hasAttachment limit cursor:pageToken",
    f"{_MAIL} bodyPreview",
    items="emails",
    page="totalCount nextPageToken authWarnings",
    brief="id threadId subject from bodyPreview receivedAt isRead hasAttachments",
)
_THREAD = read(
    "emailThread",
    "threadId",
    f"{_MESSAGE} text(quoted: false)",
    about="threadId: a conversation.",
    when="threadId",
    items="messages",
    page="subject",
    needs="text",
)
_READ = read(
    "email",
    "id:emailId quoted",
    f"{_MESSAGE} body",
    about="id: a message; quoted: quotations too.",
    needs="body",
    constants={"bodyAs": "text", "quoted": False},
    text="body",
)
_DRAFT = read(
    "draft",
    "id:draftId",
    f"id version email {{ {_MESSAGE} text }}",
    about="id: one, whole.",
    when="id",
)
_DRAFTS = read(
    "drafts",
    "limit cursor:pageToken",
    f"id version email {{ subject to {_PERSON} bodyPreview receivedAt }}",
    items="drafts",
    page="nextPageToken authWarnings",
)
_BUSY = read(
    "freeBusy",
    "from to calendars",
    "calendarId calendarName busy { startUtc endUtc }",
    about="busy: when each calendar is busy.",
    when="busy",
    items="calendars",
    page="authWarnings",
)
_EVENTS = read(
    "calendarEvents",
    "q attendees calendarId from to includeCancelled limit offset",
    _EVENT,
    about="Events, earliest first; 7 days from today by default.",
    items="events",
    page="meta { totalCount hasMore } authWarnings",
    brief="id title startUtc endUtc allDay location organizer attendees",
)
_ONE_ITEM = read(
    "taskItem", "id:itemId provider", _WHOLE_ITEM, about="id: an item with comments.", when="id"
)
_COLUMNS = read(
    "taskBoard",
    "board:boardId provider",
    _BOARD,
    about="board and columns: the columns of a board.",
    when="columns",
)
_ITEMS = read(
    "taskItems",
    "board:boardId q status assignee limit cursor:pageToken provider",
    _ITEM,
    about="board: its items.",
    when="board",
    items="items",
    page="totalCount nextPageToken",
)
_BOARDS = read(
    "taskBoards",
    "q limit cursor:pageToken provider",
    "id name description state",
    about="Without an id: boards.",
    items="boards",
    page="nextPageToken authWarnings",
)
_SEARCH = read(
    "collabSearch",
    "search:q site:siteId limit offset:from",
    "entityType id title summary webUrl lastModifiedDateTime",
    about="search: words in files, lists and sites.",
    when="search",
    items="hits",
    page="total moreResultsAvailable authWarnings",
)
_FILES = read(
    "collabFiles",
    "q folder:folderId site:siteId name mimeType owner modifiedAfter orderBy limit "
    "cursor:pageToken",
    _FILE,
    about="Files and folders, newest first; folder: what is in it.",
    items="files",
    page="nextPageToken authWarnings",
    brief="id name mimeType size isFolder modifiedTime",
)
_ATTACHMENT_TEXT = read(
    "emailAttachmentText",
    "mail:emailId attachment:attachmentId",
    "content isCut",
    about="mail, attachment: a link, or its text.",
    when="attachment text",
    text="content",
)
_FILE_TEXT = read(
    "collabFileText",
    "id:fileId",
    "content isCut",
    about="text: what it says.",
    when="text",
    text="content",
)
_ATTACHMENT = read(
    "emailAttachment",
    "mail:emailId attachment:attachmentId",
    "id name contentType size downloadUrl expiresAt",
    when="attachment",
)
_PERMISSIONS = read(
    "collabFilePermissions",
    "id:fileId",
    "id type role emailAddress domain displayName",
    about="permissions: who may use it.",
    when="permissions",
    items="permissions",
)
_LINK = read(
    "collabFileLink",
    "id:fileId",
    "fileName mimeType size webViewLink downloadUrl expiresAt",
    about="link: a link to its bytes, for an hour.",
    when="link",
)
_FACTS = read("collabFile", "id:fileId", _WHOLE_FILE, about="id: what is known of it.")
_BY_NAME = read(
    "people",
    "name",
    "email name lastContact account sources",
    about="name: addresses.",
    when="name",
    items="people",
    page="outcome totalCount authWarnings",
)
_BY_ADDRESS = read(
    "person",
    "email",
    _CONTACT,
    about="email: last contact.",
    needs="lastContact.email|lastContact.event",
)
_PENDING = read(
    "pendingWrite",
    "id",
    "id operation state expiresAt reason status result",
    about="How a held write stands; wait a minute between two calls.",
)
_TRASH = write("deleteEmail", "id:emailId", "success", about="trash: move to trash.", when="trash")
_MARK = write(
    "modifyEmail",
    "id:emailId read:input.markAsRead addLabels:input.addLabels removeLabels:input.removeLabels",
    "success",
    about="Or mark read, change labels.",
)
_NAMED = "id:draftId version:ifMatch"
_TEXTS = "to:input.to cc:input.cc bcc:input.bcc subject:input.subject body:input.body"
_PLAIN = {"input.bodyType": "text"}
_ANSWER = "id:input.replyTo body:input.body"
_FORWARD = "id:input.forwardOf body:input.body to:input.to cc:input.cc"
_MADE = "success emailId"
_DRAFT_CALLS = {
    "new": write("createDraft", _TEXTS, _MADE, constants=_PLAIN),
    "reply": write("createDraft", _ANSWER, _MADE, when="id", constants=_PLAIN),
    "reply_all": write(
        "createDraft", _ANSWER, _MADE, when="id", constants={**_PLAIN, "input.replyAll": True}
    ),
    "forward": write("createDraft", _FORWARD, _MADE, when="id", constants=_PLAIN),
    "change": write(
        "updateDraft", f"{_NAMED} {_TEXTS}", "success draftId version", constants=_PLAIN
    ),
    "delete": write("deleteDraft", _NAMED, "success"),
}
_SEND_DRAFT = write("sendDraft", _NAMED, "success emailId threadId")
_TASK_CALLS = {
    "create": write(
        "createTaskItem",
        "board:boardId name:input.name group:input.groupId fields:input.fields provider",
        _ITEM_DONE,
    ),
    "update": write("updateTaskItem", "id:itemId fields:input.fields provider", _ITEM_DONE),
    "comment": write("addTaskComment", "id:itemId comment:input.body provider", "success"),
    "delete": write("deleteTaskItem", "id:itemId provider", "success"),
}
_FILE_CALLS = {
    "create_folder": write(
        "createFolder", "name:input.name folder:input.parentFolderId", _FILE_DONE
    ),
    "upload": write("uploadFile", "text:input name:fileName folder:folderId", _FILE_DONE),
    "rename": write("renameFile", "id:fileId name:input.newName", _FILE_DONE),
    "move": write("moveFile", "id:fileId folder:input.destinationFolderId", _FILE_DONE),
    "trash": write("deleteFile", "id:fileId", "success"),
}
_SHARE_CALLS = {
    "share": write(
        "shareFile",
        "id:fileId type:input.type role:input.role email:input.emailAddress domain:input.domain "
        "notify:input.sendNotification message:input.message",
        "success permissionId role",
    ),
    "change": write(
        "updateFilePermission", "id:fileId permission:permissionId role:input.role", "success role"
    ),
    "remove": write("deleteFilePermission", "id:fileId permission:permissionId", "success"),
}
_SAFE = {"destructiveHint": False}
_FILING = {**_SAFE, "idempotentHint": True, "openWorldHint": False}

TOOLS: tuple[Tool, ...] = (
    Tool("find_mail", "Newest first.", {"": _FIND_MAIL}, _READS),
    Tool("read_mail", "", {"thread": _THREAD, "message": _READ}, _READS),
    Tool("read_drafts", "Drafts, newest first.", {"draft": _DRAFT, "drafts": _DRAFTS}, _READS),
    Tool("find_events", "", {"busy": _BUSY, "events": _EVENTS}, _READS),
    Tool(
        "find_tasks",
        "",
        {"item": _ONE_ITEM, "columns": _COLUMNS, "items": _ITEMS, "boards": _BOARDS},
        _READS,
    ),
    Tool("find_files", "", {"content": _SEARCH, "files": _FILES}, _READS),
    Tool(
        "get_file",
        "",
        {
            "attachment_text": _ATTACHMENT_TEXT,
            "text": _FILE_TEXT,
            "attachment": _ATTACHMENT,
            "permissions": _PERMISSIONS,
            "link": _LINK,
            "facts": _FACTS,
        },
        _READS,
    ),
    Tool("find_person", "", {"name": _BY_NAME, "contact": _BY_ADDRESS}, _READS),
    Tool("pending_write", "", {"write": _PENDING}, _READS, approval=True),
    Tool(
        "draft_mail",
        "Leave mail in Drafts for a person to send; it is not sent.",
        _mail_calls(),
        _SAFE,
        actions=True,
        drafts=True,
        other="send_mail",
        addresses=True,
    ),
    Tool(
        "send_mail",
        "Send mail.",
        {**_mail_calls(), "draft": _SEND_DRAFT},
        actions=True,
        drafts=False,
        other="draft_mail",
        addresses=True,
    ),
    Tool(
        "write_draft",
        "Make, change or delete a draft; what is not named stays. id: the draft, or the message "
        "that is answered or forwarded.",
        _DRAFT_CALLS,
        actions=True,
        addresses=True,
    ),
    Tool("file_mail", "File mail.", {"trash": _TRASH, "change": _MARK}, _FILING),
    Tool(
        "write_task",
        "Create, update, comment on or delete an item. fields: column id to value.",
        _TASK_CALLS,
        actions=True,
    ),
    Tool(
        "change_file",
        "Create a folder, upload a text, rename, move, or move to the recycle bin.",
        _FILE_CALLS,
        actions=True,
    ),
    Tool(
        "share_file",
        "Share a file, change a permission, or remove it.",
        _SHARE_CALLS,
        actions=True,
        addresses=True,
    ),
)
