"""
Answers of Google, Graph, monday.com and Asana that public reports or the vendors' pages describe.

The source of each test is the place where the answer was reported.
"""

import json

import pytest
import pytest_asyncio
from stub_upstream import stub_upstream, world_at

from providers.connectors.collab.files import upload_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

TASKS = "/api/access/tasks"
COLLAB = "/api/access/collab"
FILES = f"{COLLAB}/files"
ACCOUNTS = {
    "projects": ("tasks", "PROJECTS", "apiToken"),
    "boards": ("tasks", "BOARDS", "apiToken"),
    "collab": ("collab", "COLLAB", "accessToken"),
    "google": ("calendar", "PROVIDER_A", "accessToken"),
}
SCOPES = {
    "collab": ["Files.ReadWrite.All", "Sites.ReadWrite.All"],
    "calendar": ["https://www.googleapis.com/auth/calendar.readonly"],
}
EVERYTHING = {
    "calendarAccessEnabled": True,
    "allowedTaskOperations": ["all"],
    "collabAccessEnabled": True,
    "allowedCollabOperations": ["all"],
    "collabAllowAllDefault": True,
}


@pytest.fixture(scope="module")
def stub():
    with stub_upstream() as stub:
        yield stub


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(stub, world_template, tmp_path_factory):
    """A client of one account of each service, all of them at the stub."""
    folder = tmp_path_factory.mktemp("odd")
    async with world_at(stub, world_template, folder) as world:
        ids = []
        for kind, provider, secret in ACCOUNTS.values():
            made = await world.admin.post(
                "/api/connections",
                json={
                    "resourceId": 1,
                    "operatorId": world.operator_id,
                    "kind": kind,
                    "provider": provider,
                    "accountEmail": "owner@example.com",
                    "credentials": {secret: "tok"},
                    "grantedScopes": SCOPES.get(kind, []),
                },
            )
            assert made.status_code == 201, made.text
            ids.append(made.json()["id"])
        token = await world.token({**EVERYTHING, "allowedConnectionIds": ids})
        async with world.client(token) as client:
            yield client


async def query(client, document, **variables):
    body = {"query": document, "variables": variables}
    return (await client.post("/graphql", json=body)).json()


# -- Asana

TASK = {
    "gid": "900",
    "name": "T",
    "notes": "n",
    "completed": False,
    "memberships": [{"project": {"gid": "10"}, "section": {"gid": "20", "name": "S"}}],
    "num_subtasks": 0,
    "custom_fields": [],
}
FIELDS = [
    {"gid": "501", "name": "Points", "type": "number"},
    {
        "gid": "503",
        "name": "Colours",
        "type": "multi_enum",
        "enum_options": [
            {"gid": "71", "name": "Red, dark", "enabled": True},
            {"gid": "72", "name": "Blue", "enabled": True},
        ],
    },
    {"gid": "504", "name": "Ref", "type": "text"},
]
ASANA = [
    {"method": "PUT", "match": "/tasks/900", "body": {"data": {"gid": "900"}}},
    {
        "match": "/projects/10/custom_field_settings",
        "body": {"data": [{"custom_field": field} for field in FIELDS]},
    },
    {"match": "/tasks/900/stories", "body": {"data": []}},
    {"match": "/tasks/900", "body": {"data": TASK}},
    {"match": "/projects/10/tasks", "body": {"data": [TASK]}},
    {"match": "/projects/10/sections", "body": {"data": []}},
    {"match": r"/projects/10\?", "body": {"data": {"gid": "10", "name": "P", "archived": False}}},
]
UPDATE = """mutation($fields: JSON!) {
  updateTaskItem(itemId: "900", provider: "PROJECTS", input: {fields: $fields}) {
    success rejectedFields
  }
}"""


@pytest.mark.parametrize(
    ("column", "text"),
    [
        # JSON has no such numbers; written all the same they are null, which clears the field:
        # jcrist/msgspec#486
        *(("501", text) for text in ("1e400", "Infinity", "-Infinity", "NaN", "inf", '"nan"')),
        ("501", "9" * 400),
        ("assignee", "0"),
        ("assignee", "false"),
        ("assignee", "[]"),
        ("assignee", "Ann"),
        ("due_on", "0"),
        ("due_on", "{}"),
    ],
)
async def test_a_value_that_would_clear_a_field_is_rejected(client, stub, column, text):
    stub.play(*ASANA)
    changed = await client.patch(
        f"{TASKS}/items/900?provider=PROJECTS", json={"fields": {column: text}}
    )
    queried = await query(client, UPDATE, fields={column: text})

    assert changed.json()["rejectedFields"] == [column], changed.text
    assert changed.json()["success"] is False
    assert queried["data"]["updateTaskItem"] == {"success": False, "rejectedFields": [column]}
    assert stub.paths("PUT") == []


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({"501": "NaN", "504": "Infinity"}, {"custom_fields": {"504": "Infinity"}}),
        ({"501": "1e3"}, {"custom_fields": {"501": 1000.0}}),
        ({"501": "null"}, {"custom_fields": {"501": None}}),
        ({"503": "Red, dark"}, {"custom_fields": {"503": ["71"]}}),
        ({"503": "blue,71"}, {"custom_fields": {"503": ["72", "71"]}}),
        ({"assignee": "null"}, {"assignee": None}),
        ({"assignee": ""}, {"assignee": None}),
        ({"assignee": "me"}, {"assignee": "me"}),
        ({"assignee": "12"}, {"assignee": "12"}),
        ({"due_on": ""}, {"due_on": None}),
        ({"due_on": "2026-01-05"}, {"due_on": "2026-01-05"}),
    ],
)
async def test_other_values_are_written(client, stub, fields, body):
    stub.play(*ASANA)
    changed = await client.patch(f"{TASKS}/items/900?provider=PROJECTS", json={"fields": fields})

    assert changed.json()["success"] is True, changed.text
    (put,) = [content for method, _, content in stub.calls if method == "PUT"]
    assert json.loads(put) == {"data": body}


TASK_QUERIES = {
    "boards/10": """{
      taskBoard(boardId: "10", provider: "PROJECTS") { board { columns { id } } }
    }""",
    "boards/10/items": """{
      taskItems(boardId: "10", provider: "PROJECTS") { items { id name columnValues { columnId } } }
    }""",
    "items/900": """{
      taskItem(itemId: "900", provider: "PROJECTS") { item { id name columnValues { columnId } } }
    }""",
}


@pytest.mark.parametrize("path", TASK_QUERIES)
async def test_free_workspaces_have_no_custom_fields(client, stub, path):
    """402: Asana's page on errors, Asana/SGTM#85."""
    message = "Custom Fields are not available for free users or guests"
    refusal = {"status": 402, "body": {"errors": [{"message": message}]}}
    stub.play({"match": "custom_field_settings", **refusal}, *ASANA)

    answer = await client.get(f"{TASKS}/{path}?provider=PROJECTS")
    queried = await query(client, TASK_QUERIES[path])

    assert answer.status_code == 200, answer.text
    assert "501" not in answer.text
    assert "errors" not in queried, queried
    assert "501" not in json.dumps(queried["data"])


@pytest.mark.parametrize("fields", [{"501": "3"}, {"504": "x"}])
async def test_a_custom_field_of_a_free_workspace_is_rejected(client, stub, fields):
    refusal = {"status": 402, "body": {"errors": [{"message": "Not available for free users"}]}}
    stub.play({"method": "PUT", "match": "/tasks/900", **refusal}, *ASANA)

    changed = await client.patch(f"{TASKS}/items/900?provider=PROJECTS", json={"fields": fields})
    queried = await query(client, UPDATE, fields=fields)

    rejected = {"success": False, "rejectedFields": list(fields)}
    assert {name: changed.json()[name] for name in rejected} == rejected, changed.text
    assert queried["data"]["updateTaskItem"] == rejected


# -- monday.com


def people_column(text, *ids):
    members = [{"id": number, "kind": "person"} for number in ids]
    return {
        "id": "people",
        "type": "people",
        "text": text,
        "value": json.dumps({"personsAndTeams": members}),
        "column": {"id": "people", "title": "Owner", "type": "people"},
    }


@pytest.mark.parametrize(
    ("text", "ids", "people"),
    [
        # monday.com's page on people columns: the text joins names, the value holds the people
        ("Doe, Jane, Roe, Rick", (11, 12), ["Doe, Jane", "Roe, Rick"]),
        ("Doe, Jane", (11,), ["Doe, Jane"]),
        ("Ann, Bob", (13, 14), ["Ann", "Bob"]),  # as many names as people
        # nobody knows them by their ids
        ("Ann, Lee, Bob", (13, 14), ["Ann, Lee, Bob"]),
    ],
)
async def test_names_with_commas_are_of_as_many_people_as_there_are(
    client, stub, text, ids, people
):
    users = [{"id": "11", "name": "Doe, Jane"}, {"id": "12", "name": "Roe, Rick"}]
    stored = {
        "id": "900",
        "name": "Item",
        "state": "active",
        "board": {"id": "1"},
        "column_values": [people_column(text, *ids)],
    }
    stub.play(
        {"match": "/v2", "bodymatch": r"users\(ids", "body": {"data": {"users": users}}},
        {"match": "/v2", "body": {"data": {"items": [stored]}}},
    )
    document = '{ taskItem(itemId: "900", provider: "BOARDS") { item { assignees } } }'

    answer = await client.get(f"{TASKS}/items/900?provider=BOARDS")
    queried = await query(client, document)

    assert answer.json()["item"]["assignees"] == people, answer.text
    assert queried["data"]["taskItem"]["item"]["assignees"] == people


async def test_a_bare_text_about_the_budget_is_a_throttle(client, stub):
    """airbytehq/airbyte#31539, with a code. The account then waits: this is its last call."""
    text = "Complexity budget exhausted, query cost 3 budget remaining 2 of 5 reset in 1 seconds"
    stub.play({"match": "/v2", "body": {"errors": [text], "account_id": 1}})

    answer = await client.get(f"{TASKS}/boards/1/items?provider=BOARDS")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1"), answer.text


# -- Graph

DRIVE = "b!drv1"


def item(name, drive=DRIVE, **facets):
    return {
        "id": name,
        "name": f"{name}.txt",
        "size": 3,
        "eTag": f'"{{{name}}},1"',
        "webUrl": f"https://files.example/{name}",
        "parentReference": {"driveId": drive, "id": "root1", "path": f"/drives/{drive}/root:"},
        "file": {"mimeType": "text/plain"},
        **facets,
    }


def drive_rules(drive=DRIVE):
    root = {"id": "root1", "name": "root", "parentReference": {"driveId": drive}}
    return [
        {"match": r"/v1.0/drives/[^/]+/(items/root1|root)(\?|$)", "body": {**root, "root": {}}},
        {
            "match": r"/v1.0/drives/[^/]+(\?|$)",
            "body": {"id": drive, "name": "D", "driveType": "personal", "webUrl": "https://x"},
        },
        {"match": "/extractSensitivityLabels", "body": {"labels": []}},
        {"match": "/permissions", "body": {"value": []}},
    ]


async def test_a_shortcut_to_a_folder_is_a_folder(client, stub):
    """OneDrive/onedrive-api-docs#284."""
    target = {"id": "r9", "folder": {"childCount": 2}, "parentReference": {"driveId": "b!other"}}
    shortcut = item("i9", remoteItem=target) | {"file": None}
    stub.play({"match": "/children", "body": {"value": [shortcut]}}, *drive_rules())
    folder = f"collab:drive:{DRIVE}:item:root"
    document = "query($f: String) { collabFiles(folderId: $f) { files { id isFolder mimeType } } }"

    listed = await client.get(FILES, params={"folderId": folder})
    queried = await query(client, document, f=folder)

    (file,) = listed.json()["files"]
    assert (file["isFolder"], file["downloadLink"], file["mimeType"]) == (True, None, None)
    shown = {"id": f"collab:drive:{DRIVE}:item:i9", "isFolder": True, "mimeType": None}
    assert queried["data"]["collabFiles"]["files"] == [shown]


LOWER, UPPER = "66d53be8a5056eca", "66D53BE8A5056ECA"


async def test_ids_of_personal_drives_have_no_letter_case(client, stub):
    """OneDrive/onedrive-api-docs#1902."""
    children = {"value": [item("a", LOWER), item("b", UPPER)]}
    stub.play({"match": "/children", "body": children}, *drive_rules(LOWER))
    folder = f"collab:drive:{LOWER}:item:root"

    listed = await client.get(FILES, params={"folderId": folder})
    queried = await query(
        client, "query($f: String) { collabFiles(folderId: $f) { files { name } } }", f=folder
    )

    assert [file["name"] for file in listed.json()["files"]] == ["a.txt", "b.txt"], listed.text
    assert len(queried["data"]["collabFiles"]["files"]) == 2


async def test_an_upload_that_is_stored_under_another_letter_case_is_stored(client, stub):
    stub.play(
        {"method": "PUT", "match": "/content", "status": 201, "body": item("a", UPPER)},
        *drive_rules(LOWER),
    )
    params = {"fileName": "a.txt", "folderId": f"collab:drive:{LOWER}:item:root"}

    stored = await client.post(f"{FILES}/upload", params=params, content=b"abc")

    assert stored.status_code in {200, 201}, stored.text
    assert stored.json()["fileId"] == f"collab:drive:{LOWER}:item:a"


async def test_a_missing_address_is_that_of_the_content(client, stub):
    """SharePoint/sp-dev-docs#5715."""
    address = "https://download.example/a"
    redirect = {"match": "/items/i1/content", "status": 302, "headers": {"Location": address}}
    path = f"{FILES}/collab:drive:{DRIVE}:item:i1/download"
    plain = {"match": r"/items/i1(\?|$)", "body": item("i1")}

    document = "query($id: String!) { collabFileLink(fileId: $id) { success downloadUrl } }"
    file_id = f"collab:drive:{DRIVE}:item:i1"

    stub.play(redirect, plain, *drive_rules())
    answer = await client.get(path)
    queried = await query(client, document, id=file_id)
    stub.play(plain, *drive_rules())
    refused = await client.get(path)
    refusal = await query(client, document, id=file_id)

    assert (answer.status_code, answer.json()["downloadUrl"]) == (200, address), answer.text
    assert queried["data"]["collabFileLink"] == {"success": True, "downloadUrl": address}
    assert refused.status_code >= 400, refused.text
    assert not (refusal.get("data") or {}).get("collabFileLink"), refusal


REFUSED_NAME = {
    "status": 400,
    "body": {"error": {"code": "invalidRequest", "message": "The provided name cannot contain"}},
}


@pytest.mark.parametrize("action", ["upload", "folder", "rename"])
async def test_a_name_that_graph_refuses_is_the_callers(client, stub, action):
    """rclone's rules of names."""
    place = f"collab:drive:{DRIVE}:item:root"
    refusals = [
        {"method": "PUT", "match": "/content", **REFUSED_NAME},
        {"method": "POST", "match": "/children", **REFUSED_NAME},
        {"method": "PATCH", "match": "/items/i1", **REFUSED_NAME},
    ]
    stub.play(*refusals, {"match": "/items/i1", "body": item("i1")}, *drive_rules())
    if action == "upload":
        params = {"fileName": "dot.", "folderId": place}
        answer = await client.post(f"{FILES}/upload", params=params, content=b"abc")
    elif action == "folder":
        body = {"name": "dot.", "parentFolderId": place}
        answer = await client.post(f"{COLLAB}/folders", json=body)
    else:
        path = f"{FILES}/collab:drive:{DRIVE}:item:i1/rename"
        answer = await client.patch(path, json={"newName": "dot."})

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == "VALIDATION_ERROR"
    if action == "folder":
        document = "mutation($i: CreateDriveFolderInput!) { createFolder(input: $i) { success } }"
        queried = await query(client, document, i={"name": "dot.", "parentFolderId": place})
    elif action == "rename":
        document = """mutation($id: String!) {
          renameFile(fileId: $id, input: {newName: "dot."}) { success }
        }"""
        queried = await query(client, document, id=f"collab:drive:{DRIVE}:item:i1")
    else:
        return  # GraphQL has no bytes
    assert queried["errors"][0]["extensions"]["code"] == "VALIDATION_ERROR", queried


# -- upload sessions

SIZE = 8 * 1024 * 1024
SLICE = 3276800
SESSION = {"method": "POST", "match": "createUploadSession", "body": {"uploadUrl": "{stub}/up/1"}}
ABSENT = {"match": "(root|items/root1)(%3A|:)", "status": 404}


def taken(start, *, method="PUT", **more):
    body = {"nextExpectedRanges": [f"{start}-"]}
    return {"method": method, "match": "/up/1", "status": 202, "body": body, "times": 1, **more}


def failed(status=None, **headers):
    rule = {"method": "PUT", "match": "/up/1", "times": 1, "headers": headers, "status": status}
    return rule | ({"drop": True} if status is None else {})


STORED = {
    "method": "PUT",
    "match": "/up/1",
    "status": 201,
    "body": item("new1", size=SIZE),
    "times": 1,
}


@pytest.mark.parametrize(
    ("rules", "ranges"),
    [
        # OneDrive/onedrive-api-docs#64: a slice that was taken although the answer is a failure
        ([failed(503), taken(2 * SLICE), STORED], [0, SLICE, 2 * SLICE]),
        ([failed(), taken(2 * SLICE), STORED], [0, SLICE, 2 * SLICE]),
        ([failed(416), taken(2 * SLICE), STORED], [0, SLICE, 2 * SLICE]),
        ([failed(429, **{"Retry-After": "1"}), taken(2 * SLICE), STORED], [0, SLICE, 2 * SLICE]),
        # a slice that was taken in part
        (
            [taken(SLICE // 2), taken(SLICE), taken(2 * SLICE), STORED],
            [0, SLICE // 2, SLICE, 2 * SLICE],
        ),
    ],
    ids=["503", "cut", "416", "429", "in part"],
)
async def test_an_upload_goes_on_where_upstream_says(client, stub, rules, ranges):
    state = {"method": "GET", "match": "/up/1", "body": {"nextExpectedRanges": [f"{SLICE}-"]}}
    stub.play(SESSION, ABSENT, *rules, state, *drive_rules())
    params = {"fileName": "big.bin", "folderId": f"collab:drive:{DRIVE}:item:root"}

    stored = await client.post(f"{FILES}/upload", params=params, content=bytes(SIZE))

    assert stored.status_code in {200, 201}, stored.text
    assert stored.json()["fileId"] == f"collab:drive:{DRIVE}:item:new1"
    sizes = [len(body) for method, path, body in stub.calls if (method, path) == ("PUT", "/up/1")]
    assert sizes == [min(SLICE - start % SLICE, SIZE - start) for start in ranges]


async def test_a_long_wait_ends_an_upload_and_its_session(client, stub, monkeypatch):
    monkeypatch.setattr(upload_sessions, "MAX_WAIT_SECONDS", 0)
    end = {"method": "DELETE", "match": "/up/1", "status": 204}
    stub.play(SESSION, ABSENT, failed(429, **{"Retry-After": "1"}), end, *drive_rules())
    params = {"fileName": "big.bin", "folderId": f"collab:drive:{DRIVE}:item:root"}

    refused = await client.post(f"{FILES}/upload", params=params, content=bytes(SIZE))

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1"), refused.text
    assert stub.paths("DELETE") == ["/up/1"]


# -- Google


async def test_calendars_that_the_user_hid_are_listed(client, stub):
    """home-assistant/core#134378: `showHidden` is false if it is not named."""
    calendar = {"id": "owner@example.com", "summary": "Main", "primary": True, "timeZone": "UTC"}
    stub.play({"match": "/calendarList", "body": {"items": [calendar]}})

    answer = await client.get("/api/access/calendar/calendars")
    queried = await query(client, "{ calendars { calendars { calendarName } } }")

    assert answer.status_code == 200, answer.text
    assert queried["data"]["calendars"]["calendars"] == [{"calendarName": "Main"}]
    calls = stub.paths("GET")
    assert len(calls) == 2
    assert all("showHidden=true" in call for call in calls)
