"""Ids for generated requests: objects of the demo's world, and objects created to be managed."""

from collections.abc import Iterable, Mapping
from typing import Any

import httpx

# Paths (a regular expression) -> where a request names something ("path.emailId") -> what.
Names = Mapping[str, Mapping[str, list[Any]]]

HELD = ("Bank agreement", "Budget")  # its label cannot be read; it is locked
EARLY = ["2026-11-20", "2026-11-21T12:00:00Z"]
LATE = ["2026-12-01T00:00:00+01:00", "2026-12-01T12:00:00"]
TEXTS = ["report", "an", "Berth 7.txt", "a new name"]
ADDRESSES = [f"person{at}@home.example" for at in range(8)]


class Looking:
    """Asks as one caller; whatever is refused is an error."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def get(self, path: str, **query: Any) -> Any:
        return self._answered("GET", path, params=query)

    def post(self, path: str, **body: Any) -> Any:
        return self._answered("POST", path, json=body)

    def _answered(self, method: str, path: str, **more: Any) -> Any:
        answer = self._client.request(method, path, **more)
        answer.raise_for_status()
        return answer.json()


# Method, path, what the path names, body.
Write = tuple[str, str, Mapping[str, str], Mapping[str, Any]]


def right_writes(client: httpx.Client) -> list[Write]:
    """Return writes that succeed, of things of their own; random bodies of them hardly ever do."""
    ask = Looking(client)
    site, berths = _berths(ask)
    rows = "/api/access/collab/sites/{siteId}/lists/{listId}/items"
    places = {"siteId": site, "listId": berths}
    row = {"Title": "Berth 200", "Tenant": "Ana"}
    made = ask.post(rows.format(**places), fields=row)["id"]
    board = ask.get("/api/access/tasks/boards")["boards"][0]["id"]
    item = ask.post(f"/api/access/tasks/boards/{board}/items", name="Made")["itemId"]
    mail = {"to": [{"email": ADDRESSES[0]}], "subject": "Hello", "body": "<p>Hello</p>"}
    return [
        ("POST", "/api/access/email/messages/send", {}, mail),
        ("POST", rows, places, {"fields": row}),
        ("PATCH", f"{rows}/{{itemId}}", {**places, "itemId": made}, {"fields": {"Fee": 9}}),
        ("PATCH", "/api/access/tasks/items/{itemId}", {"itemId": item}, {"fields": {"name": "b"}}),
    ]


def _attached_text(ask: Looking) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return the newest mail with a file whose text can be read, and the mail's files."""
    for mail in ask.get("/api/access/email/messages", hasAttachment="true", limit=50)["emails"]:
        files = ask.get(f"/api/access/email/messages/{mail['id']}")["attachments"]
        if any(file["contentType"] == "application/pdf" for file in files):
            return mail, files
    raise LookupError("No mail has a PDF.")


def of_surfaces(client: httpx.Client) -> Names:
    """Name what the four surfaces show to a caller who may see everything."""
    ask = Looking(client)
    mails = ask.get("/api/access/email/messages", limit=50)["emails"]
    boards = ask.get("/api/access/tasks/boards")["boards"]
    items = [ask.get(f"/api/access/tasks/boards/{id_}/items")["items"] for id_ in ids(boards[:3])]
    calendars = ask.get("/api/access/calendar/calendars")["calendars"]
    accounts = ask.get("/api/access/token")["connections"]
    attached, files = _attached_text(ask)
    return {
        "": {
            "path.emailId": ids(mails),
            "path.threadId": [mail["threadId"] for mail in mails],
            "path.eventId": ids(ask.get("/api/access/calendar/events")["events"]),
            "path.boardId": ids(boards),
            "query.email": ["harbourlight"],
            "query.calendars": [str(calendar["calendarId"]) for calendar in calendars],
            "body.connectionId": ids(account for account in accounts if account["kind"] == "email"),
            "body.emailAddress": ADDRESSES,
            **dict.fromkeys(
                (f"body.{recipients}[*].email" for recipients in ("to", "cc", "bcc")), ADDRESSES
            ),
            **dict.fromkeys(("query.from", "query.after"), EARLY),
            **dict.fromkeys(("query.to", "query.before"), LATE),
            **dict.fromkeys(("query.q", "query.name", "query.fileName"), TEXTS),
            **dict.fromkeys(("body.name", "body.newName", "body.subject"), TEXTS),
        },
        "^/api/access/email/messages/.*/attachments/": {
            "path.emailId": [attached["id"]],
            "path.attachmentId": ids(files),
        },
        "^/api/access/tasks/items/": {
            "path.itemId": [item["id"] for some in items for item in some]
        },
        **_of_collab(ask),
    }


def _of_collab(ask: Looking) -> Names:
    """Name one site's list and library, so that what is named together belongs together."""
    site, berths = _berths(ask)
    rows = ask.get(f"/api/access/collab/sites/{site}/lists/{berths}/items")["items"]
    drives = ask.get(f"/api/access/collab/sites/{site}/drives")["drives"]
    root = next(drive["rootFolderId"] for drive in drives if drive["name"] == "Drawings")
    files = ask.get("/api/access/collab/files", folderId=root, limit=40)["files"]
    held = [ask.get("/api/access/collab/files", name=name)["files"][0] for name in HELD]
    folders = [
        ask.post("/api/access/collab/folders", name=f"{at}", parentFolderId=root)["fileId"]
        for at in range(4)
    ]
    shared = files[0]["id"]
    share = f"/api/access/collab/files/{shared}/share"
    shares = [
        ask.post(share, type="user", role="reader", emailAddress=address) for address in ADDRESSES
    ]
    return {
        "^/api/access/collab/sites/": {
            "path.siteId": [site],
            "path.listId": [berths],
            "path.itemId": ids(rows),
        },
        "^/api/access/collab/(folders|files(?!.*permissionId))": {
            "path.fileId": ids(held + files[1:]),
            "query.folderId": folders,
            "body.parentFolderId": folders,
            "body.destinationFolderId": folders,
        },
        "permissionId": {
            "path.fileId": [shared],
            "path.permissionId": [share["permissionId"] for share in shares],
        },
    }


def _berths(ask: Looking) -> tuple[str, str]:
    """Return the site of the yard and its list of berths."""
    site = _called(ask.get("/api/access/collab/sites")["sites"], "Yard")
    return site, _called(ask.get(f"/api/access/collab/sites/{site}/lists")["lists"], "Berths")


def of_management(client: httpx.Client) -> Names:
    """Make operators, resources, connections, tokens and rules, and name them."""
    ask = Looking(client)
    operators = [
        ask.post("/api/operators", email=address, displayName="Made")["id"] for address in ADDRESSES
    ]
    resources = [
        ask.post("/api/resources", name="made", operatorIds=operators)["id"] for _ in operators
    ]
    connections = [
        ask.post(
            "/api/connections",
            resourceId=resource,
            operatorId=operator,
            kind="collab",  # whose members may all be changed
            provider="COLLAB",
            accountEmail="made@home.example",
            grantedScopes=[],
        )["id"]
        for resource, operator in zip(resources, operators, strict=True)
    ]
    tokens = [
        ask.post("/api/access-tokens", name="made", operatorId=operator, resourceIds=resources)[
            "id"
        ]
        for operator in operators
    ]
    rules = [
        ask.post(
            f"/api/access-tokens/{tokens[0]}/collab-rules",
            ruleType="mime_type",
            pattern=f"text/made{at}",
            action="allow",
        )["id"]
        for at in range(len(ADDRESSES))
    ]
    return {
        "": {
            "path.operatorId": operators,
            "path.resourceId": resources,
            "path.connectionId": connections,
            "path.tokenId": tokens[1:],
            "body.operatorId": operators,
            "body.resourceId": resources,
            "body.resourceIds[*]": resources,
            "body.operatorIds[*]": operators,
            "body.email": ADDRESSES,
            "body.accountEmail": ADDRESSES,
            "body.provider": ["PROVIDER_A", "PROVIDER_B"],
            "body.method": ["GET"],
            "body.path": ["/api/access/email/messages"],
            "body.ruleType": ["mime_type"],
            "body.pattern": ["text/*", "image/*"],
            "body.action": ["allow", "block"],
        },
        "ruleId": {
            "path.tokenId": [tokens[0]],
            "path.ruleId": rules,
            "body.pattern": ["text/*", "image/*"],
            "body.action": ["allow", "block"],
        },
    }


def ids(things: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [thing["id"] for thing in things]


def _called(things: Iterable[Mapping[str, Any]], name: str) -> str:
    return next(thing["id"] for thing in things if thing["displayName"] == name)
