"""Settings of single content accounts: their writes, recipients, masks and filters."""

import content_world
import pytest
from content_world import ANN, BOB, MAIN
from world import ADMIN

from policy.vocabulary import CollabField

MODES = {"effect": (428, "EFFECT_REQUIRED"), "approve": (202, None)}
HIDDEN = {CollabField.NAME, CollabField.OWNERS, CollabField.DESCRIPTION}
SHARED = {"type": "user", "role": "reader", "emailAddress": "bo@work.example"}


@pytest.fixture
async def shared(content):
    """Content in which each of two accounts has a file of its own; and their connections."""
    content.connections = await content_world.give_bob_an_account(content)
    return content


def writes_of(content, account):
    """Return one call of each kind to the content that the account alone, or first, sees."""
    file, folder = {ANN: ("letter", "own"), BOB: ("diary", "bobs")}[account]
    path = f"/files/{content.id(file)}"
    calls = [
        ("PATCH", f"{path}/rename", {"json": {"newName": f"new {file}.txt"}}),
        ("POST", f"{path}/share", {"json": SHARED}),
        ("POST", "/folders", {"json": {"name": "New", "parentFolderId": content.id(folder)}}),
        (
            "POST",
            "/files/upload",
            {"params": {"folderId": content.id(folder), "fileName": "n.txt"}, "content": b"n"},
        ),
        ("DELETE", path, {}),
    ]
    if account == ANN:
        row = content.path("berths", 1)
        calls += [
            ("POST", content.path("berths", 0), {"json": {"fields": {"Title": "B"}}}),
            ("PATCH", row, {"json": {"fields": {"Length": 9}}}),
            ("DELETE", row, {}),
        ]
    return calls


def upstream_writes(content):
    return [
        (call["method"], call["path"])
        for call in content.calls()
        if call["method"] not in {"GET", "HEAD"}
        and not call["path"].endswith(("$batch", "/search/query", "/extractSensitivityLabels"))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("narrowed", [ANN, BOB])
async def test_writes_of_one_account_are_shown_first_and_the_others_run(shared, narrowed, mode):
    own = {str(shared.connections[narrowed]): {"writes": mode}}
    token = await shared.token(accounts=own)

    for method, path, content in writes_of(shared, narrowed):
        dry = await shared.call(method, path, token, **content, headers={"prefer": "dry-run"})
        shared.forget_calls()
        shown = await shared.call(method, path, token, **content)

        answer = shown.json()
        assert (shown.status_code, answer.get("error")) == MODES[mode], shown.text
        assert answer["effect"] == dry.json()["effect"]
        assert answer["effect"]["account"]["connectionId"] == shared.connections[narrowed]
        assert upstream_writes(shared) == []
    for method, path, content in writes_of(shared, BOB if narrowed == ANN else ANN):
        shared.forget_calls()
        done = await shared.call(method, path, token, **content)
        assert done.status_code in {200, 201, 204}, done.text
        assert upstream_writes(shared) != []


@pytest.mark.slow
async def test_a_write_of_one_account_runs_by_its_effect_or_by_a_person(shared):
    path = f"/files/{shared.id('letter')}/rename"
    for mode, name in (("effect", "shown.txt"), ("approve", "held.txt")):
        own = {str(shared.connections[ANN]): {"writes": mode}}
        token = await shared.token(accounts=own)
        body = {"json": {"newName": name}}
        shown = (await shared.call("PATCH", path, token, **body)).json()
        assert name not in shared.names("own")
        if mode == "effect":
            named = {"if-effect": f'"{shown["effect"]["digest"]}"'}
            done = await shared.call("PATCH", path, token, **body, headers=named)
            assert (done.status_code, done.json()["success"]) == (200, True), done.text
        else:
            async with shared.client(ADMIN) as admin, shared.client(token) as client:
                released = await admin.post(f"/api/held-writes/{shown['id']}/release")
                assert released.status_code == 200, released.text
                wait = {"prefer": "wait=30"}
                ended = await client.get(f"/api/access/writes/{shown['id']}", headers=wait)
            assert (ended.json()["state"], ended.json()["status"]) == ("done", 200), ended.text
        assert name in shared.names("own")


# -- operations of one account


READ = ["read_only"]


def account_of(shared, account, **settings):
    return {str(shared.connections[account]): settings}


@pytest.mark.parametrize("narrowed", [ANN, BOB])
async def test_an_account_that_may_not_be_written_to_holds_nothing_to_write(shared, narrowed):
    other = BOB if narrowed == ANN else ANN
    token = await shared.token(accounts=account_of(shared, narrowed, allowedCollabOperations=READ))

    for method, path, content in writes_of(shared, narrowed)[:5]:  # what it alone sees
        refused = await shared.call(method, path, token, **content)
        assert (refused.status_code, refused.json()["error"]) == (404, None), path
    assert upstream_writes(shared) == []
    for method, path, content in writes_of(shared, other)[:5]:
        done = await shared.call(method, path, token, **content)
        assert done.status_code in {200, 201, 204}, done.text


async def test_a_write_that_every_account_refuses_reaches_no_provider(shared):
    own = {str(each): {"allowedCollabOperations": READ} for each in shared.connections.values()}
    token = await shared.token(accounts=own)
    shared.forget_calls()

    for method, path, content in writes_of(shared, ANN):
        refused = await shared.call(method, path, token, **content)
        assert (refused.status_code, refused.json()["error"]) == (422, "OPERATION_NOT_ALLOWED")
    assert shared.calls() == []


async def test_a_file_that_two_accounts_see_is_written_to_by_the_one_that_allows_it(shared):
    token = await shared.token(accounts=account_of(shared, ANN, allowedCollabOperations=READ))
    path = f"/files/{shared.id('sketch')}/rename"
    body = {"json": {"newName": "lines.pdf"}}

    dry = await shared.call("PATCH", path, token, **body, headers={"prefer": "dry-run"})
    done = await shared.call("PATCH", path, token, **body)

    assert dry.json()["effect"]["account"]["email"] == BOB
    assert (done.status_code, done.json()["success"]) == (200, True), done.text
    assert "lines.pdf" in shared.names("documents")


async def test_a_folder_without_a_parent_goes_to_the_only_account_that_admits_it(shared):
    token = await shared.token(accounts=account_of(shared, ANN, allowedCollabOperations=READ))

    made = await shared.call("POST", "/folders", token, json={"name": "New"})

    assert made.status_code == 200, made.text
    assert "New" in shared.names("bobs")


async def test_each_account_has_its_recipients(shared):
    rules = {"allow": ["@work.example"]}
    own = account_of(shared, ANN, recipientRules=rules)
    token = await shared.token(accounts=own)
    everywhere = {str(each): {"recipientRules": rules} for each in shared.connections.values()}
    strict = await shared.token(accounts=everywhere)
    stranger = {**SHARED, "emailAddress": "eve@elsewhere.example"}
    shared.forget_calls()

    refused = await shared.call(
        "POST", f"/files/{shared.id('letter')}/share", strict, json=stranger
    )
    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert shared.calls() == []
    answers = {
        name: [
            (await shared.call("POST", f"/files/{shared.id(name)}/share", token, json=body))
            for body in (SHARED, stranger)
        ]
        for name in ("letter", "diary")
    }
    assert {name: [each.status_code for each in two] for name, two in answers.items()} == {
        "letter": [200, 404],
        "diary": [200, 200],
    }


async def test_a_permission_is_changed_by_the_rules_of_the_account_that_changes_it(shared):
    open_token = await shared.token()
    stranger = {**SHARED, "emailAddress": "eve@elsewhere.example"}
    permissions = {}
    for name in ("letter", "diary"):
        path = f"/files/{shared.id(name)}/share"
        answer = await shared.call("POST", path, open_token, json=stranger)
        permissions[name] = answer.json()["permissionId"]
    rules = {"allow": ["@work.example"]}
    token = await shared.token(accounts=account_of(shared, ANN, recipientRules=rules))
    shared.forget_calls()

    changed = {
        name: await shared.call(
            "PATCH",
            f"/files/{shared.id(name)}/permissions/{permission}",
            token,
            json={"role": "writer"},
        )
        for name, permission in permissions.items()
    }

    assert changed["letter"].json()["error"] == "RECIPIENT_NOT_ALLOWED"
    assert changed["diary"].status_code == 200, changed["diary"].text
    assert [method for method, _ in upstream_writes(shared)] == ["PATCH"]


# -- what one account hides


ASKED = "{ collabFiles { files { id name size owners { email } description connectionId } } }"


async def test_what_an_account_hides_is_not_asked_of_its_provider(shared):
    words = [word.value for word in CollabField if word not in HIDDEN]
    token = await shared.token(accounts=account_of(shared, ANN, visibleCollabFields=words))
    shared.forget_calls()

    listed = (await shared.graphql(ASKED, token))["data"]["collabFiles"]["files"]

    by_id = {each["id"]: each for each in listed}
    letter, diary = by_id[shared.id("letter")], by_id[shared.id("diary")]
    assert letter == {
        **dict.fromkeys(letter),
        "id": shared.id("letter"),
        "size": letter["size"],
        "connectionId": shared.connections[ANN],
    }
    assert (diary["name"], diary["description"]) == ("diary.txt", "Days")
    assert diary["owners"]
    assert diary["connectionId"] == shared.connections[BOB]
    of_files = [call for call in shared.calls() if call["path"].startswith("/v1.0/drives/")]
    described = [call["path"] for call in of_files if "description" in str(call["query"])]
    assert len(of_files) > len(described) > 0
    assert all(shared.resources["bobs"].drive_id in path for path in described)


async def test_a_filter_does_not_ask_an_account_that_hides_its_field(shared):
    token = await shared.token(
        accounts=account_of(shared, ANN, visibleCollabFields=["size", "web_view_link"])
    )
    shared.forget_calls()

    found = (await shared.get("/files", token, name="t")).json()
    hits = (await shared.get("/search", token, q="title:diary")).json()

    ids = {each["id"] for each in found["files"]}
    assert shared.id("diary") in ids
    assert shared.id("letter") not in ids
    assert all(each["name"] for each in found["files"])
    assert {each["title"] for each in hits["hits"]} >= {"diary.txt"}
    assert (found.get("authWarnings"), hits.get("authWarnings")) == (None, None)
    assert shared.resources["own"].drive_id not in str(shared.calls())


async def test_own_settings_show_what_one_account_allows_at_least(shared):
    narrow = {"allowedCollabOperations": READ, "visibleCollabFields": ["name"]}
    token = await shared.token(accounts=account_of(shared, ANN, **narrow))
    every = {str(each): narrow for each in shared.connections.values()}
    strict = await shared.token(accounts=every)

    one = (await shared.get("/files", token)).json()["accessInfo"]
    all_alike = (await shared.get("/files", strict)).json()["accessInfo"]

    assert one == "Single accounts allow less than this."
    assert all_alike.startswith("Read-only access to collaboration content. Hidden fields: ")


async def test_explain_names_the_account_that_refuses(shared):
    own = {str(each): {"allowedCollabOperations": READ} for each in shared.connections.values()}
    body = {
        "name": "t",
        "operatorId": shared.world.operator_id,
        "resourceIds": [MAIN],
        "settings": {**content_world.EVERYTHING, "accounts": own},
    }
    call = {"method": "DELETE", "path": f"/api/access/collab/files/{shared.id('letter')}"}
    async with shared.client(ADMIN) as admin:
        made = (await admin.post("/api/access-tokens", json=body)).json()
        url = f"/api/access-tokens/{made['id']}"
        shared.forget_calls()
        answer = (await admin.post(f"{url}/explain", json=call)).json()
        named = shared.connections[ANN]
        assert answer["error"] == "OPERATION_NOT_ALLOWED"
        assert answer["change"]["text"] == (
            f"Add 'delete_file' to accounts.{named}.allowedCollabOperations."
        )
        assert upstream_writes(shared) == []
        await admin.patch(url, json={"settings": answer["change"]["settings"]})
    gone = await shared.call("DELETE", f"/files/{shared.id('letter')}", made["token"])
    assert gone.status_code == 204, gone.text
