"""`policy`: one document; what diff shows is what apply does, all or nothing, and once."""

import asyncio
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_sizes import times
from sqlmodel import select

from gateway.auth import token_format
from gateway.cli.stores import open_store
from gateway.errors import CommandError
from gateway.operations import policy as policy_operations
from gateway.operations.policy_changes import changes
from gateway.operations.policy_document import Policy, parse
from gateway.operations.policy_snapshot import PolicySnapshot
from gateway.store.tables import AccessToken, CollabRule, ConnectionRow, Operator, Resource
from policy.refusals import InvalidInput
from policy.settings import DEFAULTS

ADA, BO = "ada@example.org", "bo@example.org"
FILE = "collab:drive:b!d:item:01F"
DOCUMENT = {
    "version": 1,
    "operators": [{"email": ADA, "displayName": "Ada"}, {"email": BO, "displayName": "Bo"}],
    "resources": [{"name": "main", "operators": [ADA]}, {"name": "shared", "operators": [ADA, BO]}],
    "tokens": [
        {
            "name": "reports",
            "operator": ADA,
            "resources": ["main", "shared"],
            "expiresAt": "2030-01-31T12:00:00Z",
            "settings": {"collabAccessEnabled": True, "visibleCollabFields": ["name"]},
            "rules": [
                {"ruleType": "file_id", "pattern": FILE, "action": "allow", "description": "x"},
                {"ruleType": "mime_type", "pattern": "IMAGE/*", "action": "block"},
            ],
        }
    ],
}


on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


def document(**members):
    return {**DOCUMENT, **members}


def token(**members):
    return document(tokens=[{**DOCUMENT["tokens"][0], **members}])


def read_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def exported(run):
    return read_json(run("policy", "export"))


def lines(difference):
    return [
        (change["change"], change["kind"], change["name"], change["member"])
        for change in difference["changes"]
    ]


@on_both
def test_applying_a_document_twice_changes_nothing_more(run, apply):
    done = read_json(apply(DOCUMENT))

    assert lines(done) == [
        ("create", "operator", ADA, None),
        ("create", "operator", BO, None),
        ("create", "resource", "main", None),
        ("create", "resource", "shared", None),
        ("create", "token", "reports", None),
        ("create", "rule", "reports", "allow file_id b!d:01F"),
        ("create", "rule", "reports", "block mime_type image/*"),
    ]
    assert token_format.digest(done["tokens"]["reports"]) is not None
    assert read_json(apply(DOCUMENT)) == {"changes": [], "tokens": {}}
    shown = read_json(run("token", "show", 1, "--json"))
    assert shown["settings"]["visibleCollabFields"] == ["name"]
    assert (shown["resourceIds"], shown["expiresAt"]) == ([1, 2], "2030-01-31T12:00:00Z")


@on_both
def test_an_export_has_no_secret_and_applies_without_changes(run, apply):
    text = read_json(apply(DOCUMENT))["tokens"]["reports"]
    first = run("policy", "export").stdout
    document = json.loads(first)

    assert lines(read_json(apply(document))) == []
    assert run("policy", "export").stdout == first
    assert document["operators"] == DOCUMENT["operators"]
    assert document["resources"] == DOCUMENT["resources"]
    assert [rule["pattern"] for rule in document["tokens"][0]["rules"]] == ["b!d:01F", "image/*"]
    assert len(document["tokens"][0]["settings"]) == len(DEFAULTS)
    for secret in (text, text[4:12], token_format.digest(text).hex()):
        assert secret not in first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        pytest.param(
            document(operators=[{"email": ADA, "displayName": "Ada L."}]),
            ("change", "operator", ADA, "displayName", "Ada", "Ada L.", "neither"),
            id="a name of a person",
        ),
        pytest.param(
            document(resources=[{"name": "main", "operators": [BO, ADA]}]),
            ("change", "resource", "main", "operators", [ADA], [ADA, BO], "wider"),
            id="the operators of a resource",
        ),
        pytest.param(
            token(resources=["main"]),
            ("change", "token", "reports", "resources", ["main", "shared"], ["main"], "narrower"),
            id="the resources of a token",
        ),
        pytest.param(
            token(expiresAt=None),
            ("change", "token", "reports", "expiresAt", "2030-01-31T12:00:00Z", None, "wider"),
            id="the end of a token",
        ),
        pytest.param(
            token(settings={"collabAccessEnabled": True}),
            (
                "change",
                "token",
                "reports",
                "settings.visibleCollabFields",
                ["name"],
                ["all"],
                "wider",
            ),
            id="a setting left out takes its default",
        ),
        pytest.param(
            token(rules=DOCUMENT["tokens"][0]["rules"][:1]),
            ("remove", "rule", "reports", "block mime_type image/*", None, None, "wider"),
            id="a rule left out goes",
        ),
    ],
)
def test_diff_shows_the_changes_that_apply_makes(run, apply, wanted, change):
    read_json(apply(DOCUMENT))
    before = exported(run)
    names = ("change", "kind", "name", "member", "before", "after", "direction")
    expected = {"changes": [dict(zip(names, change, strict=True))]}

    assert read_json(apply(wanted, command="diff")) == expected
    assert read_json(apply(wanted, "--dry-run")) == expected
    assert exported(run) == before
    assert read_json(apply(wanted)) == {**expected, "tokens": {}}
    assert read_json(apply(wanted, command="diff")) == {"changes": []}


def test_settings_of_accounts_are_applied_exported_and_compared(run, apply):
    own = {"3": {"calendarAccessLevel": "free_busy_only", "visibleTaskFields": ["name"]}}
    wider, unknown = {"3": {"visibleTaskFields": ["name"]}}, {"3": {"quota": None}}
    read_json(apply(token(settings={"accounts": own})))
    before = exported(run)

    (change,) = read_json(apply(token(settings={"accounts": wider}), command="diff"))["changes"]
    refused = apply(token(settings={"accounts": unknown}))

    assert before["tokens"][0]["settings"]["accounts"] == own
    assert lines(read_json(apply(before))) == []
    assert (change["member"], change["direction"]) == ("settings.accounts", "wider")
    assert (change["before"], change["after"]) == (own, wider)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "An account cannot have quota." in refused.stderr
    assert exported(run) == before


def test_missing_members_change_nothing(run, apply):
    read_json(apply(DOCUMENT))
    before = exported(run)
    bare = {"name": "reports", "operator": ADA}

    assert lines(read_json(apply({"version": 1}))) == []
    assert lines(read_json(apply({"version": 1, "tokens": [bare]}))) == []
    assert lines(read_json(apply({"version": 1, "resources": [{"name": "main"}]}))) == []
    assert exported(run) == before


def test_every_change_of_a_token_raises_its_revision_once(apply, rows):
    read_json(apply(DOCUMENT))
    read_json(apply(token(settings={}, rules=[], resources=["main"])))
    read_json(apply(token(settings={}, rules=[], resources=["main"])))

    assert rows.all(select(AccessToken.policy_rev)) == [2]


@on_both
def test_prune_revokes_tokens_that_are_not_named(run, apply):
    read_json(apply(DOCUMENT))
    none = document(tokens=[])

    assert lines(read_json(apply(none))) == []
    assert lines(read_json(apply(none, "--prune", command="diff"))) == [
        ("revoke", "token", "reports", None)
    ]
    assert lines(read_json(apply(none, "--prune"))) == [("revoke", "token", "reports", None)]
    assert read_json(run("token", "list", "--status", "active", "--json")) == []
    refused = apply({"version": 1}, "--prune")
    assert (refused.exit_code, refused.stdout) == (1, "")


def test_the_name_of_a_revoked_token_can_be_used_again(run, apply):
    first = read_json(apply(DOCUMENT))["tokens"]["reports"]
    run("token", "revoke", 1)
    second = read_json(apply(DOCUMENT))["tokens"]["reports"]

    assert first != second
    assert [token["id"] for token in read_json(run("token", "list", "--json"))] == [1, 2]


@on_both
def test_automatic_rules_stay_until_the_document_names_them(run, apply, rows):
    read_json(apply(token(rules=[])))
    own = {"rule_type": "file_id", "pattern": "b!d:01F", "action": "allow", "source": "auto"}
    rows.add(CollabRule(token_id=1, created_at=0, updated_at=0, **own))

    assert lines(read_json(apply(token(rules=[])))) == []
    assert exported(run)["tokens"][0]["rules"] == []
    named = [{"ruleType": "file_id", "pattern": FILE, "action": "allow"}]
    assert lines(read_json(apply(token(rules=named)))) == [
        ("change", "rule", "reports", "allow file_id b!d:01F")
    ]
    assert lines(read_json(apply(token(rules=named)))) == []
    assert len(exported(run)["tokens"][0]["rules"]) == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        pytest.param(document(colour=1), "colour: is not known", id="an unknown key"),
        pytest.param(token(secret="x"), "tokens[0].secret: is not known", id="a secret"),
        pytest.param(token(settings={"x": 1}), "tokens[0].settings.x", id="an unknown setting"),
        pytest.param(
            token(settings={"maskMode": "odd"}), "tokens[0].settings.maskMode", id="a bad setting"
        ),
        pytest.param(
            token(rules=[{"ruleType": "colour", "pattern": "x", "action": "allow"}]),
            "tokens[0].rules[0].ruleType",
            id="an unknown type",
        ),
        pytest.param(
            token(rules=[{"ruleType": "site_id", "pattern": "x", "action": "allow"}]),
            "tokens[0].rules[0].pattern",
            id="no pattern of its type",
        ),
        pytest.param(
            token(rules=[DOCUMENT["tokens"][0]["rules"][1]] * 2),
            "tokens[0].rules[1]: is there already",
            id="the same rule twice",
        ),
        pytest.param(
            document(tokens=DOCUMENT["tokens"] * 2),
            "tokens[1]: has the same name as another one",
            id="a name twice",
        ),
        pytest.param(document(version=2), "version: must be", id="another version"),
        pytest.param({"operators": []}, "version: is required", id="no version"),
    ],
)
def test_an_invalid_document_is_refused_with_the_places(wanted, message):
    with pytest.raises(InvalidInput) as refusal:
        parse(json.dumps(wanted))

    [detail] = refusal.value.details
    assert message in f"{detail.field}: {detail.message}"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        pytest.param(token(settings={"x": 1}), "  tokens[0].settings.x: There is", id="unread"),
        pytest.param(token(operator="eve@example.org"), "no operator 'eve@", id="nobody"),
        pytest.param(token(resources=["attic"]), "no resource 'attic'", id="no place"),
        pytest.param(
            token(operator=BO),
            f"Token 'reports' names resource 'main', which {BO} is not linked to.",
            id="a resource of others",
        ),
    ],
)
def test_a_refused_document_changes_nothing(run, apply, wanted, message):
    refused = apply(wanted)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert message in refused.stderr
    empty = {"version": 1, "operators": [], "resources": [], "tokens": [], "documents": []}
    assert exported(run) == empty


def test_a_file_that_is_not_json_is_refused(run, deployed):
    for text, message in (("{", "not JSON"), ('{"version": 1, "version": 1}', "appears twice")):
        refused = run("policy", "apply", "-", input=text)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert message in refused.stderr


@pytest.mark.slow
def test_a_token_gets_resources_of_its_operator_alone(run, apply):
    without_ada = [{"name": "main", "operators": [BO]}]
    read_json(apply(DOCUMENT))
    assert lines(read_json(apply({"version": 1, "resources": without_ada}))) == [
        ("change", "resource", "main", "operators")
    ]
    stored = exported(run)
    assert read_json(apply(stored))["changes"] == []

    fewer = token(resources=["main"])
    for wanted in ({**fewer, "resources": []}, {**fewer, "resources": without_ada}):
        refused = apply(wanted)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert f"names resource 'main', which {ADA} is not linked to" in refused.stderr
    assert exported(run) == stored
    assert len(lines(read_json(apply(fewer)))) == 2  # it links her again


def test_a_token_stays_with_its_operator(apply):
    read_json(apply(DOCUMENT))
    refused = apply(token(operator=BO))

    assert refused.exit_code == 1
    assert "'reports' belongs to ada@example.org" in refused.stderr


def test_ambiguous_names_are_refused_with_their_ids(run, apply, rows):
    read_json(apply(DOCUMENT))
    rows.add(Resource(name="main", created_at=0))

    for result in (run("policy", "export"), apply(DOCUMENT)):
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Several resources are named 'main' (1, 3)" in result.stderr


def test_accounts_are_never_touched(apply, rows):
    read_json(apply(DOCUMENT))
    [operator] = rows.all(select(Operator.id).where(Operator.email == ADA))
    rows.add(
        ConnectionRow(
            resource_id=1,
            operator_id=operator,
            kind="email",
            provider="PROVIDER_A",
            account_email=ADA,
            granted_scopes=[],
            can_write=False,
            status="active",
            selected_site_ids=[],
            created_at=0,
            updated_at=0,
        )
    )
    read_json(apply({"version": 1, "operators": [], "resources": [], "tokens": []}, "--prune"))

    assert rows.all(select(ConnectionRow.id)) == [1]


@on_both
async def test_only_one_of_concurrent_applies_changes_the_store(deployed):
    policy = Policy.model_validate(DOCUMENT)

    async def apply_once():
        async with open_store() as store, store.database.writing() as session:
            return await policy_operations.apply(session, policy, prune=False)

    done = await asyncio.gather(*(apply_once() for _ in range(4)))

    assert sorted(len(applied.texts) for applied in done) == [0, 0, 0, 1]
    assert sorted(len(applied.changes) for applied in done) == [0, 0, 0, 7]


def test_text_output_has_one_line_per_change(run, deployed, tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps(DOCUMENT))
    done = run("policy", "apply", "policy.json")
    name, text = done.stdout.rstrip("\n").split("\t")
    assert (name, token_format.digest(text) is not None) == ("reports", True)
    assert "+ operator ada@example.org (neither)\n" in done.stderr
    assert "+ token reports: rule block mime_type image/* (narrower)\n7 changes.\n" in done.stderr

    (tmp_path / "policy.json").write_text(json.dumps(token(settings={}, rules=[])))
    shown = run("policy", "diff", "policy.json", "--exit-code")
    assert (shown.exit_code, shown.stderr) == (1, "4 changes.\n")
    assert shown.stdout.splitlines()[:2] == [
        "~ token reports: settings.collabAccessEnabled true -> false (narrower)",
        '~ token reports: settings.visibleCollabFields ["name"] -> ["all"] (wider)',
    ]


EMPTY = PolicySnapshot(
    operators={}, resources={}, tokens={}, documents={}, document_limits=(), shared={}
)
NAMES = ["a", "b", "c", "d"]
PATHS = [f"/api/saved/{name}" for name in NAMES]


@given(st.lists(st.sampled_from(NAMES), unique=True), st.lists(st.sampled_from(NAMES), unique=True))
@settings(max_examples=20)
def test_the_operators_of_a_resource_must_be_known(people, named):
    wanted = Policy.model_validate(
        {
            "version": 1,
            "operators": [{"email": f"{name}@x", "displayName": name} for name in people],
            "resources": [{"name": "r", "operators": [f"{name}@x" for name in named]}],
        }
    )
    if set(named) <= set(people):
        assert len(changes(EMPTY, wanted)) == len(people) + 1
    else:
        with pytest.raises(CommandError, match="There is no operator"):
            changes(EMPTY, wanted)


def invented(random):
    """A whole document over the same few names; tokens keep their operator."""
    people = [f"{name}@example.org" for name in NAMES]
    resources = [
        {"name": name, "operators": sorted(random.sample(people, random.randint(0, 3)))}
        for name in NAMES
    ]
    linked = {
        person: [place["name"] for place in resources if person in place["operators"]]
        for person in people
    }
    rules = [
        {"ruleType": "mime_type", "pattern": f"{kind}/*", "action": action, "description": words}
        for kind in ("application", "image")
        for action in ("allow", "block")
        for words in [random.choice([None, "x", "y"])]
    ]
    return {
        "version": 1,
        "operators": [{"email": name, "displayName": random.choice("xyz")} for name in people],
        "resources": resources,
        "tokens": [
            {
                "name": name,
                "operator": f"{name}@example.org",
                "resources": [
                    place for place in linked[f"{name}@example.org"] if random.random() < 0.7
                ],
                "expiresAt": random.choice([None, "2030-01-31T12:00:00Z"]),
                "settings": {
                    **DEFAULTS,
                    "maskMode": random.choice(["strict", "basic"]),
                    "allowedCalendarIds": random.choice([None, [1], [1, 2]]),
                    "quota": random.choice([None, {"perMinute": random.randint(1, 3)}]),
                },
                "rules": [rule for rule in rules if random.random() < 0.5],
            }
            for name in sorted(random.sample(NAMES, random.randint(0, 4)))
        ],
        "documents": [
            {
                "name": name,
                "document": random.choice(
                    ["{ emails { nextPageToken } }", "{ emails { emails { id } } }"]
                ),
                "method": "GET",
                "path": path,
                "status": 200,
                "description": random.choice([None, "x"]),
            }
            for name, path in sorted(zip(NAMES, random.sample(PATHS, 4), strict=True))
            if random.random() < 0.6
        ],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_apply_makes_any_store_match_the_document(run, apply):
    """They are applied one after the other to the same store."""
    random = Random(2026)
    for _ in range(times(12)):
        wanted = json.loads(json.dumps(invented(random), default=list))
        before = read_json(apply(wanted, "--prune", command="diff"))["changes"]

        assert read_json(apply(wanted, "--prune"))["changes"] == before
        stored = exported(run)
        for entry in stored["tokens"]:
            quota = entry["settings"]["quota"]
            entry["settings"]["quota"] = quota and {k: v for k, v in quota.items() if v}
        assert stored == wanted
        assert read_json(apply(wanted, "--prune"))["changes"] == []
