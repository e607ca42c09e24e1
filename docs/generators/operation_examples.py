"""
Example requests and answers of the documented operations, made by sending them to the demo.

The result is `src/rest_compat/openapi/examples.json`: operation id -> parameters, body and answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demo_gateway import DemoGateway
from stable_values import renamed, stable

from gateway.http.api_descriptions import access_document

Answers = dict[str, Any]
_FILE = b"Berth,Metres\nA1,12\n"


@dataclass(frozen=True, slots=True)
class Step:
    """
    One request.

    Attributes:
        parameters: Path, query and header parameters, from the answers of earlier steps.
        body: The JSON body, or bytes to upload; None: no body.
        shown: False for a request that only prepares a later one.
        key: The name under which later steps find the answer, when the operation runs twice.
        makes: The member of the answer that holds a random id, and the name to show instead.
        token: The text of an access token that an earlier step made; None: that of the demo.
    """

    operation: str
    parameters: Callable[[Answers], Mapping[str, Any]] = lambda _: {}
    body: Callable[[Answers], Any] = lambda _: None
    shown: bool = True
    key: str = ""
    makes: tuple[str, str] | None = None
    token: Callable[[Answers], str] | None = None


def _email(answers: Answers) -> Mapping[str, Any]:
    return {"emailId": answers["listEmails"]["emails"][0]["id"]}


def _attachment(answers: Answers) -> Mapping[str, Any]:
    message = answers["files"]["emails"][0]
    return {"emailId": message["id"], "attachmentId": message["attachments"][0]["id"]}


def _subscription(answers: Answers) -> Mapping[str, Any]:
    return {"id": answers["createChangeSubscription"]["id"]}


def _text(answers: Answers) -> Mapping[str, Any]:
    """Return the first attached text, table or calendar of a page of mails."""
    return next(
        {"emailId": message["id"], "attachmentId": file["id"]}
        for message in answers["texts"]["emails"]
        for file in message["attachments"]
        if file["name"].endswith((".txt", ".csv", ".ics", ".docx")) and file["size"] < 2000
    )


def _draft(answers: Answers) -> Mapping[str, Any]:
    return {"draftId": answers["listDrafts"]["drafts"][0]["id"]}


def _board(answers: Answers) -> Mapping[str, Any]:
    return {"boardId": answers["listTaskBoards"]["boards"][0]["id"]}


def _site(answers: Answers) -> Mapping[str, Any]:
    return {"siteId": answers["yard"]["sites"][0]["id"]}


def _list(answers: Answers) -> Mapping[str, Any]:
    berths = next(
        row for row in answers["listCollabLists"]["lists"] if row["template"] == "genericList"
    )
    return {**_site(answers), "listId": berths["id"]}


def _made(answers: Answers) -> Mapping[str, Any]:
    return {**_list(answers), "itemId": answers["createListItem"]["id"]}


def _file(answers: Answers) -> Mapping[str, Any]:
    return {"fileId": answers["uploadFile"]["fileId"]}


def _link(answers: Answers) -> Mapping[str, Any]:
    return {**_file(answers), "permissionId": answers["shareFile"]["permissionId"]}


def _item(answers: Answers) -> Mapping[str, Any]:
    return {"itemId": answers["listTaskItems"]["items"][0]["id"]}


_MESSAGE = {
    "to": [{"email": "ana@example.com", "name": "Ana Silva"}],
    "subject": "Berth A1",
    "body": "The berth is free from Monday.",
}

STEPS = (
    Step("listEmails", lambda _: {"q": "invoice", "limit": 2}),
    Step("getEmail", lambda a: {**_email(a), "includeBody": True}),
    Step("getEmailThread", lambda a: {"threadId": a["listEmails"]["emails"][0]["threadId"]}),
    Step("sendEmail", body=lambda _: _MESSAGE),
    Step(
        "uploadEmailAttachment",
        lambda _: {"fileName": "berths.csv", "contentType": "text/csv"},
        lambda _: _FILE,
        makes=("handle", "pX3hTq0v8r2Kc6mYw1dLz5nB7sJ4gAeR9uFiOxCtVbE"),
    ),
    Step("deleteUploadedAttachment", lambda a: {"handle": a["uploadEmailAttachment"]["handle"]}),
    Step("replyToEmail", _email, lambda _: {"body": "Thank you.", "replyAll": False}),
    Step("forwardEmail", _email, lambda _: {"to": [{"email": "ana@example.com"}], "body": "FYI"}),
    Step("listEmails", lambda _: {"hasAttachment": True, "limit": 1}, shown=False, key="files"),
    Step("getEmailAttachment", _attachment),
    Step("listEmails", lambda _: {"hasAttachment": True, "limit": 50}, shown=False, key="texts"),
    Step("getEmailAttachmentText", _text),
    Step("modifyEmail", _email, lambda _: {"markAsRead": True, "addLabels": ["STARRED"]}),
    Step("deleteEmail", lambda a: {"emailId": a["listEmails"]["emails"][1]["id"]}),
    Step("createDraft", body=lambda _: _MESSAGE),
    Step("listDrafts", lambda _: {"limit": 1}),
    Step("getDraft", _draft),
    Step("updateDraft", _draft, lambda _: {"subject": "Berth A1 from Monday"}),
    Step("sendDraft", _draft),
    Step("listDrafts", lambda _: {"limit": 1}, shown=False),
    Step("deleteDraft", _draft),
    Step("listPeople", lambda _: {"name": "jonas"}),
    Step("listChanges", lambda _: {"surfaces": "email,calendar"}),
    Step(
        "createChangeSubscription",
        body=lambda _: {"url": "https://hooks.example.com/changes", "surfaces": ["email"]},
        makes=("id", "Qm7xV2kPz9LwT4sN"),
    ),
    Step("listChangeSubscriptions"),
    Step("rotateChangeSubscription", _subscription),
    Step("deleteChangeSubscription", _subscription),
    Step(
        "listEvents",
        lambda _: {"from": "2026-11-23T00:00:00Z", "to": "2026-11-24T00:00:00Z", "limit": 2},
    ),
    Step("listEventsByContact", lambda _: {"email": "jonas@harbourlight.example", "limit": 1}),
    Step("getEvent", lambda a: {"eventId": a["listEvents"]["events"][0]["id"]}),
    Step("getFreeBusy", lambda _: {"from": "2026-11-23T08:00:00Z", "to": "2026-11-23T12:00:00Z"}),
    Step("listCalendars"),
    Step("listTaskProviders"),
    Step("listTaskBoards", lambda _: {"q": "boat", "limit": 2}),
    Step("getTaskBoard", _board),
    Step("listTaskItems", lambda a: {**_board(a), "limit": 2}),
    Step("getTaskItem", _item),
    Step("createTaskItem", _board, lambda _: {"name": "Order varnish"}),
    Step("updateTaskItem", _item, lambda _: {"fields": {"name": "Varnish the mast"}}),
    Step("addTaskComment", _item, lambda _: {"body": "The varnish has arrived."}),
    Step("deleteTaskItem", lambda a: {"itemId": a["createTaskItem"]["itemId"]}),
    Step("listSites", lambda _: {"limit": 2}),
    Step("listSites", lambda _: {"q": "yard", "limit": 1}, shown=False, key="yard"),
    Step("getSite", _site),
    Step("listDrives", _site),
    Step("listCollabLists", _site),
    Step("getCollabList", _list),
    Step("listCollabListItems", lambda a: {**_list(a), "limit": 2}),
    Step("createListItem", _list, lambda _: {"fields": {"Title": "A1", "Tenant": "Ana Silva"}}),
    Step("getCollabListItem", _made),
    Step("updateListItem", _made, lambda _: {"fields": {"Title": "A1, long"}}),
    Step("deleteListItem", _made),
    Step("listFiles", lambda _: {"q": "mast", "limit": 2}),
    Step(
        "createFolder",
        body=lambda _: {"name": "Plans 2027"},
        makes=("fileId", "01G4MNKY5PLANS2027"),
    ),
    Step(
        "uploadFile",
        lambda a: {"folderId": a["createFolder"]["fileId"], "fileName": "berths.csv"},
        lambda _: _FILE,
        makes=("fileId", "01G4MNKY5BERTHS"),
    ),
    Step("getFile", _file),
    Step("getFileLink", _file),
    Step("getFileText", _file),
    Step("renameFile", _file, lambda _: {"newName": "berths-2027.csv"}),
    Step(
        "shareFile",
        _file,
        lambda _: {
            "type": "user",
            "role": "reader",
            "emailAddress": "ingrid@harbourlight-studio.example",
        },
        makes=("permissionId", "HBqdGKPm5b4K"),
    ),
    Step("listFilePermissions", _file),
    Step("updateFilePermission", _link, lambda _: {"role": "writer"}),
    Step("deleteFilePermission", _link),
    Step(
        "createFolder",
        body=lambda _: {"name": "Plans 2026"},
        shown=False,
        key="other",
        makes=("fileId", "01G4MNKY5PLANS2026"),
    ),
    Step("moveFile", _file, lambda a: {"destinationFolderId": a["other"]["fileId"]}),
    Step("listSensitivityLabels"),
    Step("getFileSensitivityLabel", _file),
    Step("deleteFile", _file),
    Step("searchContent", lambda _: {"q": "berth", "limit": 2}),
    Step("getAccessToken"),
    Step(
        "createChildToken",
        body=lambda _: {
            "name": "reads invoices",
            "settings": {"allowedEmailOperations": ["search_emails", "view_email"]},
            "expiresAt": "2026-11-20T18:00:00Z",
        },
        makes=("keyId", "pX3hTq0v"),
    ),
    Step("listChildTokens"),
    Step("revokeChildToken", lambda a: {"childId": a["createChildToken"]["id"]}),
    Step(
        "createChildToken",
        body=lambda _: {"name": "asks a person", "settings": {"writes": "approve"}},
        shown=False,
        key="asking",
    ),
    Step(
        "addTaskComment",
        _item,
        lambda _: {"body": "The varnish has arrived."},
        shown=False,
        key="held",
        makes=("id", "kP3vQ9wXyB2nT5sA"),
        token=lambda a: a["asking"]["token"],
    ),
    Step(
        "getPendingWrite", lambda a: {"id": a["held"]["id"]}, token=lambda a: a["asking"]["token"]
    ),
)


def collect(demo: DemoGateway) -> dict[str, dict[str, Any]]:
    """
    Send every request of `STEPS`; return the examples by operation id.

    Raises:
        ValueError: A request was refused.
    """
    operations = {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in access_document().get("paths", {}).items()
        for method, operation in methods.items()
    }
    answers: Answers = {}
    examples: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for step in STEPS:
        method, path, operation = operations[step.operation]
        values, body = step.parameters(answers), step.body(answers)
        places = {row["name"]: row["in"] for row in operation["parameters"] if "name" in row}
        query = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in values.items()
            if places[name] == "query"
        }
        url = path.format(**{name: value for name, value in values.items() if name not in query})
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        own = {"authorization": f"Bearer {step.token(answers)}"} if step.token else {}
        response = demo.call(
            method, url, params=query, headers=own, **content if body is not None else {}
        )
        if response.status_code >= 300:
            raise ValueError(f"{step.operation}: {response.status_code} {response.text}")
        is_json = response.headers.get("content-type") == "application/json"
        answer = response.json() if is_json else None
        answers[step.key or step.operation] = answer
        if step.makes:
            names[answer[step.makes[0]].rpartition(":")[2]] = step.makes[1]
        if step.shown:
            example = {"parameters": values, "body": body, "answer": answer}
            examples[step.operation] = {
                name: stable(renamed(value, names), base_url=demo.base_url, mark=False)
                for name, value in example.items()
                if value not in ({}, None) and not isinstance(value, bytes)
            }
    return examples
