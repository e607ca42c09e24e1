"""`seed`, `query`, `schema` and `openapi`: requests to a gateway without a client."""

import hashlib
import json
import os
import socket
import threading

import artefacts
import graphql
import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.demo.profiles import profiles
from gateway.store.tables import SavedDocumentRow

ROOT = artefacts.ROOT
SETTINGS = {"AGW_ADMIN_TOKEN": "a" * 20, "AGW_SECRET_KEYS": "k" * 20, "AGW_SANDBOX": "true"}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    """A seeded store's folder, and the texts of its tokens."""
    folder = tmp_path_factory.mktemp("seeded")
    env = {**SETTINGS, "AGW_DATA_DIR": str(folder)}
    done = CliRunner().invoke(app, ["seed", "--json"], env=env)
    assert done.exit_code == 0, done.stderr
    return folder, json.loads(done.stdout)


@pytest.fixture
def place(seeded, environment):
    """A deployment over the seeded store; its tokens."""
    for name, value in SETTINGS.items():
        environment.setenv(name, value)
    environment.setenv("AGW_DATA_DIR", str(seeded[0]))
    environment.setenv("AGW_TOKEN", seeded[1]["tokens"]["full"])
    return seeded[1]["tokens"]


def read_json(result, code=0):
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


# -- seed ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_store_is_seeded_once(run, place, seeded):
    assert set(seeded[1]) == {"operatorId", "resources", "tokens"}
    assert set(seeded[1]["tokens"]) == set(profiles())
    assert seeded[1]["resources"]["main"] == 1
    assert not (seeded[0] / "demo.json").exists()

    refused = run("seed")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "The store is not empty: there are operators.\n"


def test_seed_requires_the_sandbox(run, deployed):
    refused = run("seed")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "AGW_SANDBOX=true" in refused.stderr


@pytest.mark.slow
def test_a_store_on_postgresql_is_seeded_and_queried(run, environment, postgres):
    environment.setenv("AGW_DATABASE_URL", postgres)
    environment.setenv("AGW_SANDBOX", "true")
    tokens = read_json(run("seed", "--json"))["tokens"]
    environment.setenv("AGW_TOKEN", tokens["full"])

    answer = read_json(run("query", "{ emails(limit: 1) { emails { id } } }"))
    assert len(answer["data"]["emails"]["emails"]) == 1


# -- query -----------------------------------------------------------------------------------------


def test_a_document_is_run_as_a_token(run, place, tmp_path):
    (tmp_path / "token").write_text(place["masked"] + "\n")
    (tmp_path / "q.graphql").write_text(
        "query One { accessToken { name } } query Two($n: Int!) "
        "{ emails(limit: $n) { emails { subject to { email } } } }"
    )
    words = ("@q.graphql", "--operation", "Two", "--variables", '{"n": 1}')

    full = read_json(run("query", *words))["data"]["emails"]["emails"]
    masked = read_json(run("query", *words, "--token-file", "token"))["data"]["emails"]["emails"]
    assert [email["to"] is None for email in (*full, *masked)] == [False, True]
    assert full[0]["subject"] == masked[0]["subject"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(("{ nope }",), "GRAPHQL_VALIDATION_FAILED", 400, id="a bad document"),
        pytest.param(("{",), "GRAPHQL_PARSE_FAILED", 400, id="no document"),
    ],
)
def test_graphql_errors_are_written_unchanged_and_exit_with_1(run, place, words, code, message):
    answer = read_json(run("query", *words), code=1)

    [error] = answer["errors"]
    assert (error["extensions"]["code"], error["extensions"]["httpStatus"]) == (code, message)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        pytest.param("", "A token is required", id="none"),
        pytest.param("two words", "This is not a token", id="two words"),
        pytest.param("agw_unknown", "", id="an unknown one"),
    ],
)
def test_a_query_needs_a_token(run, place, environment, token, message):
    environment.setenv("AGW_TOKEN", token)
    refused = run("query", "{ accessToken { name } }")

    assert refused.exit_code == 1
    assert message in refused.stderr
    assert '"data"' not in refused.stdout


@pytest.mark.parametrize("variables", ["{", "[]", "@nowhere.json"])
def test_invalid_variables_are_wrong_usage(run, environment, variables):
    assert run("query", "{ a }", "--variables", variables).exit_code == 2


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://127.0.0.1:1"])
def test_an_unreachable_gateway_is_reported(run, place, url):
    refused = run("query", "{ accessToken { name } }", "--url", url)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert url in refused.stderr


def test_a_redirect_is_not_followed(run, place):
    """A server in the gateway's place gets the token once and cannot redirect it elsewhere."""
    with socket.create_server(("127.0.0.1", 0)) as first:
        port, heard = first.getsockname()[1], []

        def answer():
            connection, _ = first.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(
                    f"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:{port}/elsewhere\r\n"
                    "Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
                )

        thread = threading.Thread(target=answer)
        thread.start()
        refused = run("query", "{ a }", "--url", f"http://127.0.0.1:{port}/base/")
        thread.join()

    assert (refused.exit_code, "is not an access-gateway" in refused.stderr) == (1, True)
    assert heard[0].startswith(b"POST /base/graphql HTTP/1.1\r\n")


# -- schema and openapi ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_schema_is_the_committed_one(run):
    committed = (ROOT / "schema.graphql").read_text()

    assert run("schema", "print").stdout == committed
    assert "__schema" in read_json(run("schema", "print", "--json"))["data"]
    checked = read_json(run("schema", "check", ROOT / "schema.graphql", "--json"))
    assert checked == {"breaking": [], "dangerous": []}


def test_breaking_changes_of_the_schema_are_listed(run, tmp_path):
    published = (ROOT / "schema.graphql").read_text()
    published = published.replace("type Query {", "type Query {\n  gone(a: Int): Int", 1)
    (tmp_path / "old.graphql").write_text(published)
    checked = run("schema", "check", tmp_path / "old.graphql")

    assert (checked.exit_code, checked.stderr) == (1, "1 breaking, 0 dangerous.\n")
    assert checked.stdout == "breaking  FIELD_REMOVED: Field Query.gone was removed.\n"


def saved(name, text):
    path = f"/api/saved/{name}"
    return SavedDocumentRow(
        name=name,
        method="GET",
        path=path,
        route=path,
        status=200,
        text=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        created_at=0,
        updated_at=0,
    )


@pytest.mark.slow
def test_saved_documents_that_a_change_of_the_schema_breaks_are_named(run, rows, tmp_path):
    """The second document was valid under the published schema, whose field is gone."""
    published = (ROOT / "schema.graphql").read_text()
    older = published.replace("type Query {", "type Query {\n  gone(a: Int): Int", 1)
    (tmp_path / "old.graphql").write_text(older)
    old = "query Old($a: Int) {\n  gone(a: $a)\n}"
    assert graphql.validate(graphql.build_schema(older), graphql.parse(old)) == []
    rows.add(saved("works", "{ emails { nextPageToken } }"))
    words = ("schema", "check", tmp_path / "old.graphql", "--documents")
    same = ("schema", "check", ROOT / "schema.graphql", "--documents", "--json")
    assert read_json(run(*same)) == {"breaking": [], "dangerous": [], "documents": []}
    rows.add(saved("old", old))

    checked = run(*words)

    problem = "Line 2: Cannot query field 'gone' on type 'Query'."
    assert checked.exit_code == 1
    assert checked.stdout.splitlines() == [
        "breaking  FIELD_REMOVED: Field Query.gone was removed.",
        f"document  old (GET /api/saved/old): {problem}",
    ]
    assert checked.stderr == "1 breaking, 0 dangerous.\nSaved documents that do not fit: 1.\n"
    assert read_json(run(*same), code=1) == {
        "breaking": [],
        "dangerous": [],
        "documents": [
            {"name": "old", "method": "GET", "path": "/api/saved/old", "problem": problem}
        ],
    }
    assert run(*same[:3]).exit_code == 0


@pytest.mark.slow
def test_documents_are_checked_in_a_configured_deployment_only(run, environment):
    environment.delenv("AGW_SECRET_KEYS")
    refused = run("schema", "check", ROOT / "schema.graphql", "--documents")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("AGW_SECRET_KEYS is needed")


@pytest.mark.parametrize("text", ["type {", "type A { b: Missing }"])
def test_a_file_that_is_not_a_schema_is_reported(run, text):
    refused = run("schema", "check", "-", input=text)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "The file is not a schema" in refused.stderr


@pytest.mark.parametrize(
    ("words", "path", "other"),
    [
        ((), "/api/access/email/messages", "/api/access-tokens"),
        (("--management",), "/api/access-tokens", "/api/access/email/messages"),
    ],
)
def test_each_api_is_described(run, environment, words, path, other):
    for name in [variable for variable in os.environ if variable.startswith("AGW_")]:
        environment.delenv(name)
    document = read_json(run("openapi", "print", *words))

    assert path in document["paths"]
    assert other not in document["paths"]
