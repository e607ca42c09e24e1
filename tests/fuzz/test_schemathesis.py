"""
Generated requests against a running gateway: every answer is one that openapi.json describes.

Schemathesis reads the description that the server publishes. Statuses, content types, headers and
bodies are held to it, over good requests and bad ones, and no body may have a member that is not
described; most requests name things that are there, so that what is checked is more than refusals.
Three runs of 10 to 30 seconds each on an idle machine, the same at every time: `FUZZ_EXAMPLES` sets
how many examples each operation gets (60 make more than 10,000 requests), `FUZZ_SEED` chooses
others.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import demo_process
import fuzz_ids
import httpx
import pytest
from closed_schemas import closed_responses
from dns_server import dns_without_names
from gateway_processes import tell

pytestmark = pytest.mark.slow

EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "3")
SEED = os.environ.get("FUZZ_SEED", "20261120")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
ACCESS = "^/(api/access|graphql)/"
# A file of the demo's world is locked, and the label of another cannot be read.
REFUSED_UPSTREAM = r"^/api/access/collab/files/\{fileId\}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_process.running(tmp_path_factory.mktemp("fuzz"), AGW_RATE_LIMITS="off") as manifest:
        yield manifest


@pytest.fixture
def passing_demo(tmp_path):
    """A demo for one test, which deletes what it finds and searches for servers of no domain."""
    with dns_without_names() as dns:
        variables = {"AGW_RATE_LIMITS": "off", "AGW_DNS_SERVER": dns}
        with demo_process.running(tmp_path, **variables) as manifest:
            yield manifest


def client(demo, token):
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=demo["baseUrl"], headers=headers, timeout=60)


def fuzz(folder: Path, demo, token, names, *words: str) -> dict:
    """Run schemathesis in *folder* until it finds nothing; return its report."""
    (folder / "schemathesis.toml").write_text(config(names))
    description = described(demo)
    (folder / "closed.json").write_text(json.dumps(closed_responses(description)))
    command = [str(Path(sys.executable).with_name("st")), "run", "closed.json"]
    command += ["--url", demo["baseUrl"]]
    command += ["-H", f"Authorization: Bearer {token}", "--checks", CHECKS, *words]
    command += ["--request-timeout", "60"]  # beside other suites; the default is 10
    command += ["--max-examples", EXAMPLES, "--seed", SEED, "--generation-database", "none"]
    command += ["--no-color", "--warnings", "off", "--continue-on-failure"]
    command += ["--report", "json", "--report-json-path", "report.json"]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    report = json.loads((folder / "report.json").read_text())
    tell(requests=report["test_cases"]["generated"], violations=len(report["failures"]))
    return report


def described(demo) -> dict:
    """Return the two descriptions of the server as one."""
    surfaces, management = (
        httpx.get(f"{demo['baseUrl']}{path}").json()
        for path in ("/openapi.json", "/api/management/openapi.json")
    )
    components = {
        kind: {**management["components"].get(kind, {}), **members}
        for kind, members in surfaces["components"].items()
    }
    components["securitySchemes"] |= management["components"]["securitySchemes"]
    paths = {**surfaces["paths"], **management["paths"]}
    return {**surfaces, "paths": paths, "components": components}


def config(names: fuzz_ids.Names) -> str:
    """Write which values parameters mostly take, and where upstream refuses, as TOML."""
    lists, tables = [], []
    for paths, values in names.items():
        of_some = (
            f"[[operations]]\ninclude-path-regex = {json.dumps(paths)}\n[operations.parameters]"
        )
        tables.append(f"{of_some if paths else '[parameters]'}\n")
        for place, several in values.items():
            name = f"list{len(lists)}"
            lists.append(f"[dictionaries.{name}]\nvalues = {json.dumps(several)}\n")
            tables.append(f'{json.dumps(place)} = {{ dictionary = "{name}", probability = 0.8 }}\n')
    refused = f"[[operations]]\ninclude-path-regex = {json.dumps(REFUSED_UPSTREAM)}\n"
    refused += 'checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 502]\n'
    return "".join([*lists, *tables, refused])


def unanswered(report: dict, method: str = "") -> set[str]:
    """Return the operations (of *method*) that answered no request with a success."""
    return {
        operation
        for operation, phases in report["valid_rates"].items()
        if operation.startswith(method) and not any(phase["accepted"] for phase in phases.values())
    }


@pytest.fixture(scope="module")
def surfaces(demo):
    with client(demo, demo["tokens"]["full"]) as caller:
        return fuzz_ids.of_surfaces(caller)


def test_every_answer_of_the_surfaces_is_as_described(tmp_path, demo, surfaces):
    token = demo["tokens"]["full"]
    report = fuzz(tmp_path, demo, token, surfaces, "--include-path-regex", ACCESS)

    # Nothing waits for a person: see the test of held writes.
    assert unanswered(report, "GET ") == {"GET /api/access/writes/{id}"}


def test_every_masked_answer_is_as_described(tmp_path, demo, surfaces):
    """Random cases only: the deterministic ones were all in the previous run."""
    words = ("--include-path-regex", ACCESS, "--phases", "fuzzing")
    fuzz(tmp_path, demo, demo["tokens"]["masked"], surfaces, *words)


def test_every_answer_of_the_management_api_is_as_described(tmp_path, passing_demo):
    admin_token = passing_demo["adminToken"]
    with client(passing_demo, admin_token) as admin:
        names = fuzz_ids.of_management(admin)
    report = fuzz(tmp_path, passing_demo, admin_token, names, "--exclude-path-regex", ACCESS)

    # A long run deletes every token before it explains: see the test of an explanation. No provider
    # fails meanwhile whose errors could be read: see tests/gateway/audit/test_provider_errors.py.
    # Chance writes no document that fits the schema: see the test of saved documents. Nor does it
    # write a redirect URI: see the tests of sign-in. No account has shared mailboxes, nothing waits
    # for a person (see the test of held writes), and no public address can be told of what waits.
    assert unanswered(report) <= {
        "POST /api/access-tokens/{tokenId}/explain",
        "GET /api/provider-errors/{requestId}",
        "POST /api/oauth-clients",
        "DELETE /api/oauth-clients/{clientId}",
        "POST /api/connections/{connectionId}/shared",
        "GET /api/held-writes/{writeId}",
        "POST /api/held-writes/{writeId}/release",
        "POST /api/held-writes/{writeId}/reject",
        "POST /api/held-write-notices",
        "POST /api/held-write-notices/{noticeId}/rotate",
        "DELETE /api/held-write-notices/{noticeId}",
        *(f"{method} /api/documents/{{name}}" for method in ("PUT", "GET", "DELETE")),
    }


@pytest.mark.parametrize("profile", ["full", "masked"])
def test_writes_that_chance_rarely_gets_right_are_answered_as_described(demo, profile):
    token = demo["tokens"][profile]
    with client(demo, token) as caller:
        writes = fuzz_ids.right_writes(caller)

    succeed(demo, token, writes)


def test_an_explanation_is_as_described(demo):
    with client(demo, demo["adminToken"]) as admin:
        token = admin.get("/api/access-tokens").json()["tokens"][0]
    asked = {"method": "GET", "path": "/api/access/email/messages"}
    explain = ("POST", "/api/access-tokens/{tokenId}/explain", {"tokenId": token["id"]}, asked)

    succeed(demo, demo["adminToken"], [explain])


def test_saved_documents_are_as_described(demo):
    body = {"document": "{ emails { hasMore } }", "method": "GET", "path": "/api/saved/more"}
    path, named = "/api/documents/{name}", {"name": "more"}
    writes = [("PUT", path, named, body), ("GET", path, named, None), ("DELETE", path, named, None)]

    succeed(demo, demo["adminToken"], writes)


def test_held_writes_are_as_described(demo):
    send = "/api/access/email/messages/send"
    mail = {"to": [{"email": fuzz_ids.ADDRESSES[0]}], "subject": "Hello", "body": "<p>Hello</p>"}
    with client(demo, demo["adminToken"]) as admin:
        full = admin.get("/api/access-tokens").json()["tokens"]
        owner = {name: full[0][name] for name in ("operatorId", "resourceIds")}
        settings = {
            "writes": "approve",
            "emailAccessEnabled": True,
            "allowedEmailOperations": ["all"],
        }
        body = {"name": "asks", **owner, "settings": settings}
        token = admin.post("/api/access-tokens", json=body).json()["token"]
    with client(demo, token) as caller:
        held = [caller.post(send, json=mail).json()["id"] for _ in range(2)]
    succeed(demo, token, [("POST", send, {}, mail)])
    succeed(demo, token, [("GET", "/api/access/writes/{id}", {"id": held[0]}, None)])
    path, rejected, released = "/api/held-writes/{writeId}", *({"writeId": write} for write in held)
    decided = [
        ("GET", path, rejected, None),
        ("POST", f"{path}/reject", rejected, {"reason": "Not now."}),
        ("POST", f"{path}/release", released, None),
        ("GET", path, rejected, None),
    ]
    succeed(demo, demo["adminToken"], decided)
    succeed(demo, token, [("GET", "/api/access/writes/{id}", {"id": held[0]}, None)])


def succeed(demo, token, writes: list[fuzz_ids.Write]) -> None:
    import schemathesis  # late: it is large, and collected with the fast tests

    description = described(demo)
    schema = schemathesis.openapi.from_dict(closed_responses(description))
    schema.config.update(base_url=demo["baseUrl"])
    for method, path, things, body in writes:
        content = {} if body is None else {"body": body}
        case = schema[path][method].Case(path_parameters=things, **content)
        answer = case.call_and_validate(headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code < 300, (method, path)
