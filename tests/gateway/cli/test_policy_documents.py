"""`policy`: saved documents are part of the policy document, checked as when they are saved."""

import asyncio
import hashlib
import json

import pytest
from sqlmodel import col, select

from gateway.cli.stores import open_store
from gateway.documents import prepared
from gateway.operations import policy as policy_operations
from gateway.operations.documents import collection
from gateway.operations.policy_document import Policy, parse
from gateway.store.tables import AccessToken, DecisionRow, DeploymentRow, SavedDocumentRow
from policy.refusals import InvalidInput

ADA = "ada@example.org"
LIST = "query Inbox($limit: Int) { emails(limit: $limit) { emails { id subject } } }"
DROP = "mutation Drop($emailId: String!) { deleteEmail(emailId: $emailId) { success } }"
DROPPING = {
    "name": "drop",
    "document": DROP,
    "method": "DELETE",
    "path": "/api/saved/mail/{emailId}",
    "status": 204,
    "description": "Deletes a message",
}
INBOX = {
    "name": "inbox",
    "document": LIST,
    "method": "GET",
    "path": "/api/saved/inbox",
    "status": 200,
    "description": None,
}

on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


def documents(*entries, **members):
    return {"version": 1, "documents": list(entries), **members}


def tokens(**limits):
    """A policy of one token per name, whose settings are its limits."""
    return {
        "version": 1,
        "operators": [{"email": ADA, "displayName": "Ada"}],
        "tokens": [
            {"name": name, "operator": ADA, "settings": settings}
            for name, settings in limits.items()
        ],
    }


def read_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def exported(run):
    return read_json(run("policy", "export"))


def lines(difference):
    return [
        (change["change"], change["kind"], change["name"], change["member"], change["direction"])
        for change in difference["changes"]
    ]


@on_both
def test_documents_travel_by_name_and_a_second_apply_changes_nothing(run, apply, rows):
    wanted = documents(INBOX, DROPPING)

    done = read_json(apply(wanted))

    assert lines(done) == [
        ("create", "document", "inbox", None, "neither"),
        ("create", "document", "drop", None, "neither"),
    ]
    assert exported(run) == {
        "version": 1,
        "operators": [],
        "resources": [],
        "tokens": [],
        "documents": [DROPPING, INBOX],
    }
    shown = read_json(run("document", "show", "inbox", "--json"))
    assert shown["documentId"] == hashlib.sha256(LIST.encode()).hexdigest()
    written = rows.all(select(SavedDocumentRow.updated_at))
    for again in (wanted, exported(run)):
        assert read_json(apply(again)) == {"changes": [], "tokens": {}}
    assert rows.all(select(SavedDocumentRow.updated_at)) == written
    assert rows.all(select(DeploymentRow.documents_rev)) == [1]


def test_apply_stores_the_same_row_as_put(run, apply, rows):
    stored = select(
        SavedDocumentRow.method,
        SavedDocumentRow.path,
        SavedDocumentRow.route,
        SavedDocumentRow.status,
        SavedDocumentRow.text,
        SavedDocumentRow.digest,
        SavedDocumentRow.description,
    )
    words = (DROPPING["path"], "DELETE", "--status", 204, "--description", "Deletes a message")
    assert run("document", "add", "drop", "-", *words, input=DROP).exit_code == 0
    by_put = rows.all(stored)

    assert read_json(apply(documents(DROPPING)))["changes"] == []
    run("document", "remove", "drop")
    read_json(apply(documents(DROPPING)))
    assert rows.all(stored) == by_put
    assert by_put[0].route == "/api/saved/mail/{}"


def test_an_entry_is_the_whole_document_as_for_put(run, apply):
    read_json(apply(documents(DROPPING)))
    short = {name: DROPPING[name] for name in ("name", "document", "method", "path")}

    done = read_json(apply(documents(short)))

    names = ("member", "before", "after", "direction")
    assert [tuple(change[name] for name in names) for change in done["changes"]] == [
        ("status", 204, 200, "neither"),
        ("description", "Deletes a message", None, "neither"),
    ]
    assert exported(run)["documents"] == [{**short, "status": 200, "description": None}]


def test_absent_documents_are_unchanged_and_pruned_ones_are_removed(run, apply):
    read_json(apply(tokens(reader={})))
    read_json(apply(documents(INBOX, DROPPING)))
    before = exported(run)

    for wanted in ({"version": 1}, documents(), documents(INBOX)):
        assert lines(read_json(apply(wanted))) == []
    assert lines(read_json(apply(tokens(reader={}), "--prune"))) == []
    assert exported(run) == before
    removal = [("remove", "document", "drop", None, "neither")]
    assert lines(read_json(apply(documents(INBOX), "--prune", command="diff"))) == removal
    assert lines(read_json(apply(documents(INBOX), "--prune"))) == removal
    assert exported(run) == {**before, "documents": [INBOX]}
    refused = apply({"version": 1}, "--prune")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "--prune needs a document that has tokens or documents.\n"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param({"document": "{ emails {"}, "Line 1: Syntax Error", id="no GraphQL"),
        pytest.param({"document": "{ gone }"}, "Cannot query field 'gone'", id="not of the schema"),
        pytest.param(
            {"document": "{ emails { nextPageToken } accessToken { id } }"},
            "A saved document selects one root field",
            id="two root fields",
        ),
        pytest.param(
            {"method": "POST"}, "method must be GET, because the document is a query", id="a method"
        ),
        pytest.param({"path": "/inbox"}, "path must start with /api/saved/", id="a path"),
        pytest.param({"status": 201}, "status must be 200 for GET", id="a status"),
    ],
)
def test_what_put_refuses_is_refused_and_nothing_is_written(run, apply, change, sentence):
    wrong = {**INBOX, **change}
    wanted = {**tokens(reader={}), "documents": [DROPPING, wrong]}
    fields = {name: value for name, value in wrong.items() if name != "name"}
    with pytest.raises(InvalidInput) as put:
        collection.prepare(prepared.graph(), collection.DocumentFields(**fields))

    for command in ("diff", "apply"):
        refused = apply(wanted, command=command)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.splitlines() == [
            "The file has documents that cannot be saved: inbox.",
            *(f"  documents[1].{item.field}: {item.message}" for item in put.value.details),
        ]
    assert sentence in put.value.message
    empty = {"operators": [], "resources": [], "tokens": [], "documents": []}
    assert exported(run) == {"version": 1, **empty}


def test_all_places_are_named_at_once(apply):
    wrong = [{**INBOX, "status": 201}, {**DROPPING, "method": "GET"}]
    refused = apply(documents(*wrong))

    assert refused.exit_code == 1
    assert refused.stderr.splitlines() == [
        "The file has documents that cannot be saved: inbox, drop.",
        "  documents[0].status: must be 200 for GET",
        "  documents[1].status: must be 200 for GET",
        "  documents[1].method: must be POST, PATCH or DELETE, because the document is a mutation",
    ]


@pytest.mark.parametrize(
    ("entries", "detail"),
    [
        ([INBOX, INBOX], "documents[1]: has the same name as another one"),
        ([{**INBOX, "name": "In"}], "documents[0].name: must have 1 to 63 characters: a-z, 0-9, "),
        ([{**INBOX, "id": 1}], "documents[0].id: is not known"),
        ([{**INBOX, "document": "x" * 8193}], "documents[0].document: must have at most 8192 char"),
        ([{"name": "inbox"}], "documents[0].document: is required"),
    ],
)
def test_an_invalid_entry_is_refused_with_its_place(entries, detail):
    with pytest.raises(InvalidInput) as refusal:
        parse(json.dumps(documents(*entries)))

    first = refusal.value.details[0]
    assert f"{first.field}: {first.message}".startswith(detail)


def test_the_same_method_and_path_is_refused(run, apply):
    other = {**DROPPING, "name": "other", "path": "/api/saved/mail/{id}", "document": DROP}
    other["document"] = DROP.replace("$emailId", "$id")
    taken = "The saved document drop has this method and path: DELETE /api/saved/mail/{emailId}."
    refused = [apply(documents(DROPPING, other))]
    read_json(apply(documents(DROPPING)))
    refused.append(apply(documents(other)))

    for result in refused:
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == f"Document 'other': {taken}\n"
    assert exported(run)["documents"] == [DROPPING]
    assert lines(read_json(apply(documents(other), "--prune"))) == [
        ("create", "document", "other", None, "neither"),
        ("remove", "document", "drop", None, "neither"),
    ]
    assert exported(run)["documents"] == [other]


@on_both
def test_documents_exchange_their_paths(run, apply):
    second = {**INBOX, "name": "second", "path": "/api/saved/second"}
    read_json(apply(documents(INBOX, second)))
    exchanged = [{**INBOX, "path": second["path"]}, {**second, "path": INBOX["path"]}]

    done = read_json(apply(documents(*exchanged)))

    assert lines(done) == [
        ("change", "document", "inbox", "path", "neither"),
        ("change", "document", "second", "path", "neither"),
    ]
    assert exported(run)["documents"] == exchanged
    assert read_json(apply(documents(*exchanged)))["changes"] == []
    refused = run("document", "add", "third", "-", INBOX["path"], input=LIST)
    assert "The saved document second has this method and path" in refused.stderr


def test_a_deployment_has_no_more_documents_than_put_allows(run, apply, monkeypatch):
    monkeypatch.setattr(collection, "MAX_DOCUMENTS", 1)
    read_json(apply(documents(INBOX)))

    refused = apply(documents(DROPPING))

    assert refused.stderr == "A deployment has at most 1 saved documents.\n"
    assert exported(run)["documents"] == [INBOX]
    assert len(read_json(apply(documents(DROPPING), "--prune"))["changes"]) == 2
    assert exported(run)["documents"] == [DROPPING]


def test_a_stored_document_that_fits_no_more_is_exported_and_unchanged(run, apply, rows):
    read_json(apply(documents(INBOX)))
    old = "{ gone }"
    digest = hashlib.sha256(old.encode()).hexdigest()
    rows.add(
        SavedDocumentRow(
            **{**INBOX, "name": "old", "path": "/api/saved/old"} | {"text": old, "digest": digest},
            route="/api/saved/old",
            created_at=0,
            updated_at=0,
        )
    )
    stored = exported(run)

    assert [entry["document"] for entry in stored["documents"]] == [LIST, old]
    assert read_json(apply(stored)) == {"changes": [], "tokens": {}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "allows"),
    [
        pytest.param({}, False, id="any"),
        pytest.param({"documentsLogOnly": "saved"}, False, id="only noted"),
        pytest.param({"documents": "saved"}, True, id="saved"),
        pytest.param({"documents": ["inbox"]}, True, id="its name"),
        pytest.param({"documents": ["drop"]}, False, id="another name"),
        pytest.param({"documents": []}, False, id="none"),
    ],
)
def test_the_direction_is_that_of_the_limited_tokens(apply, limit, allows):
    read_json(apply(tokens(reader=limit)))
    other = LIST.replace("id subject", "id")

    added = read_json(apply(documents(INBOX)))
    changed = read_json(apply(documents({**INBOX, "document": other})))
    removed = read_json(apply(documents(), "--prune"))

    wider, narrower = ("wider", "narrower") if allows else ("neither", "neither")
    assert lines(added) == [("create", "document", "inbox", None, wider)]
    assert lines(changed) == [("change", "document", "inbox", "document", "neither")]
    assert lines(removed) == [("remove", "document", "inbox", None, narrower)]


@pytest.mark.parametrize(
    ("parent", "revoked", "direction"),
    [
        pytest.param("any", None, "wider", id="a child with a limit of its own"),
        pytest.param(["drop"], None, "neither", id="narrowed by its parent"),
        pytest.param("any", 1, "neither", id="revoked"),
    ],
)
def test_the_direction_includes_child_tokens(apply, rows, parent, revoked, direction):
    read_json(apply(tokens(parent={"documents": parent})))
    (stored,) = rows.all(select(AccessToken))
    child = {"documents": ["inbox"]}
    same = {"name": "child", "operator_id": stored.operator_id, "parent_id": stored.id}
    rows.add(
        AccessToken(
            **same,
            key_id="k" * 8,
            digest=b"d" * 32,
            settings=child,
            revoked_at=revoked,
            created_at=0,
        )
    )

    assert lines(read_json(apply(documents(INBOX), command="diff"))) == [
        ("create", "document", "inbox", None, direction)
    ]


def test_the_limits_of_tokens_travel_with_their_settings(run, apply):
    limits = {"documents": ["inbox"], "documentsLogOnly": "saved"}
    wanted = {**tokens(reader=limits), "documents": [INBOX]}

    read_json(apply(wanted))

    stored = exported(run)
    settings = stored["tokens"][0]["settings"]
    assert {name: settings[name] for name in limits} == limits
    assert read_json(apply(stored))["changes"] == []
    assert lines(read_json(apply(tokens(reader={}), command="diff"))) == [
        ("change", "token", "reader", "settings.documents", "wider"),
        ("change", "token", "reader", "settings.documentsLogOnly", "wider"),
    ]
    read_json(run("token", "revoke", 1, "--json"))
    read_json(apply(stored))
    assert exported(run) == stored


def test_every_change_of_a_document_is_in_the_decision_log(apply, rows):
    read_json(apply(documents(INBOX, DROPPING)))
    read_json(apply(documents({**INBOX, "description": "x"}, DROPPING)))
    read_json(apply(documents(DROPPING), "--prune"))

    logged = select(DecisionRow.operation, DecisionRow.resource_id).order_by(col(DecisionRow.id))
    assert rows.all(logged) == [
        ("createDocument", "inbox"),
        ("createDocument", "drop"),
        ("changeDocument", "inbox"),
        ("removeDocument", "inbox"),
    ]
    assert rows.all(select(DeploymentRow.documents_rev)) == [3]


def test_text_output_has_one_line_per_change(run, apply, tmp_path):
    read_json(apply({**tokens(reader={"documents": "saved"}), "documents": [INBOX]}))
    wanted = documents(DROPPING, {**INBOX, "path": "/api/saved/mail"})
    (tmp_path / "policy.json").write_text(json.dumps(wanted))
    shown = run("policy", "diff", "policy.json")

    assert (shown.exit_code, shown.stderr) == (0, "2 changes.\n")
    assert shown.stdout.splitlines() == [
        "+ document drop (wider)",
        '~ document inbox: path "/api/saved/inbox" -> "/api/saved/mail" (neither)',
    ]
    shown = run("policy", "diff", "-", "--prune", input=json.dumps(documents()))
    assert shown.stdout == "- document inbox (narrower)\n"


@on_both
async def test_only_one_of_concurrent_applies_writes_the_documents(deployed):
    policy = Policy.model_validate(documents(INBOX, DROPPING))

    async def apply_once():
        async with open_store() as store, store.database.writing() as session:
            return await policy_operations.apply(session, policy, prune=False)

    done = await asyncio.gather(*(apply_once() for _ in range(4)))

    assert sorted(len(applied.changes) for applied in done) == [0, 0, 0, 2]


@pytest.mark.slow
@on_both
async def test_applies_and_puts_at_the_same_time_all_succeed(deployed):
    """Writers wait for each other in one order: no deadlock ends a transaction."""
    graph = prepared.graph()

    async def apply_once(number):
        name = f"applied-{number}"
        entry = {**INBOX, "name": name, "path": f"/api/saved/{name}"}
        policy = Policy.model_validate(documents(entry))
        async with open_store() as store, store.database.writing() as session:
            await policy_operations.apply(session, policy, prune=False)

    async def put_once(number):
        name = f"put-{number}"
        path = f"/api/saved/{name}"
        new = collection.DocumentFields(document=LIST, method="GET", path=path)
        async with open_store() as store, store.database.writing() as session:
            await collection.put(session, graph, name, new)

    await asyncio.gather(*(work(number) for number in range(4) for work in (apply_once, put_once)))

    async with open_store() as store, store.database.reading() as session:
        listed = await collection.list_all(session)
    kinds = [f"{kind}-{number}" for kind in ("applied", "put") for number in range(4)]
    assert [document.name for document in listed] == kinds
