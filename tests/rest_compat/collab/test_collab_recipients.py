"""Recipient rules on files: shares, and changes of permissions."""

import content_world
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_sizes import times

RULES = {"allow": ["@work.example"], "block": ["boss@work.example"]}
HOUSE = "house"


def writes(content):
    return [call for call in content.calls() if call["method"] not in {"GET", "HEAD"}]


async def share(content, token, **written):
    path = f"/files/{content.id(HOUSE)}/share"
    return await content.call("POST", path, token, json={"role": "reader", **written})


@pytest.mark.parametrize(
    ("written", "message", "field"),
    [
        (
            {"type": "user", "emailAddress": "x@else.example"},
            "This token may not write to x@else.example.",
            "emailAddress",
        ),
        (
            {"type": "group", "emailAddress": "Boss+x@Work.Example"},
            "This token may not write to Boss+x@work.example.",
            "emailAddress",
        ),
        (
            {"type": "domain", "domain": "work.example"},
            "This token may not write to another recipient.",
            "type",
        ),
        ({"type": "anyone"}, "This token may not write to another recipient.", "type"),
    ],
)
async def test_a_share_beyond_the_rules_is_refused_and_reaches_nothing(
    content, written, message, field
):
    token = await content.token(recipientRules=RULES)
    content.forget_calls()
    response = await share(content, token, **written)

    body = response.json()
    assert response.status_code == 403
    assert {name: body[name] for name in ("error", "message", "details", "errorCode")} == {
        "error": "RECIPIENT_NOT_ALLOWED",
        "message": message,
        "details": [{"field": field, "message": "This token may not write to this recipient."}],
        "errorCode": "RECIPIENT_NOT_ALLOWED",
    }
    assert content.calls() == []


async def test_a_share_names_the_domain_that_the_rules_compare(content):
    token = await content.token(recipientRules=RULES)
    content.forget_calls()
    response = await share(content, token, type="user", emailAddress="bo@w\u1d52rk.example")
    ambiguous = await share(content, token, type="user", emailAddress="bo@stra\u00dfe.example")

    assert response.status_code == 200
    assert len(writes(content)) == 1
    path = f"/files/{content.id(HOUSE)}/permissions"
    listed = await content.call("GET", path, await content.token())
    assert "bo@work.example" in {
        permission.get("emailAddress") for permission in listed.json()["permissions"]
    }
    assert (ambiguous.status_code, ambiguous.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_a_permission_is_changed_only_for_an_allowed_holder(content):
    token = await content.token(recipientRules=RULES)
    anyone = await content.token()
    statuses = []
    for address in ("bob@work.example", "x@else.example"):
        made = await share(content, anyone, type="user", emailAddress=address)
        path = f"/files/{content.id(HOUSE)}/permissions/{made.json()['permissionId']}"
        content.forget_calls()
        response = await content.call("PATCH", path, token, json={"role": "writer"})
        statuses.append((response.status_code, len(writes(content))))

    assert statuses == [(200, 1), (403, 0)]
    body = response.json()
    assert (body["error"], body["message"]) == (
        "RECIPIENT_NOT_ALLOWED",
        "This token may not write to another recipient.",
    )
    assert "details" not in body
    assert (await content.call("DELETE", path, token)).status_code == 204


@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_a_hidden_holder_gives_the_same_bytes_whatever_the_rules_say(content, mode):
    token = await content.token(recipientRules=RULES, visibleCollabFields=["name"], maskMode=mode)
    anyone = await content.token()
    bodies = set()
    for address in ("bob@work.example", "x@else.example"):
        made = await share(content, anyone, type="user", emailAddress=address)
        path = f"/files/{content.id(HOUSE)}/permissions/{made.json()['permissionId']}"
        content.forget_calls()
        response = await content.call("PATCH", path, token, json={"role": "writer"})
        bodies.add(response.content.replace(response.headers["x-request-id"].encode(), b""))
        assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
        assert content.calls() == []

    assert len(bodies) == 1


# Address -> its mailbox and domain, and pattern -> what it matches: an oracle without normal form.
KNOWN = {
    "bob@work.example": ("bob", "work"),
    "Bob+tag@WORK.example": ("bob", "work"),
    "boss@work.example": ("boss", "work"),
    "x@else.example": ("x", "else"),
}
PATTERNS = {
    "*": lambda mailbox: True,
    "@WORK.example": lambda mailbox: mailbox is not None and mailbox[1] == "work",
    '"bob"@work.example': lambda mailbox: mailbox == ("bob", "work"),
    "boss+a@work.example": lambda mailbox: mailbox == ("boss", "work"),
}
patterns = st.lists(st.sampled_from(sorted(PATTERNS)), max_size=3)
shares = st.sampled_from(
    [
        *(
            {"type": kind, "emailAddress": address}
            for kind in ("user", "group")
            for address in KNOWN
        ),
        {"type": "domain", "domain": "work.example"},
        {"type": "anyone"},
    ]
)


def permitted(allow, block, address):
    """Whether the rules allow *address*; None is everyone, whom any block rule excludes."""
    if address is None:
        return "*" in allow and not block
    mailbox = KNOWN[address]
    return any(PATTERNS[pattern](mailbox) for pattern in allow) and not any(
        PATTERNS[pattern](mailbox) for pattern in block
    )


@pytest.mark.slow
async def test_nothing_is_shared_outside_the_rules(content_template, tmp_path):
    """Generated shares: upstream is asked to share exactly what is allowed."""
    wanted = times(40)
    examples = []

    @settings(max_examples=wanted, database=None)
    @given(patterns, patterns, shares)
    def generate(allow, block, written):
        examples.append((allow, block, written))

    generate()
    async with content_world.opened(
        content_template, tmp_path / "rules", rate_limits="off"
    ) as content:
        outcomes = []
        for allow, block, written in examples:
            token = await content.token(recipientRules={"allow": allow, "block": block})
            content.forget_calls()
            response = await share(content, token, **written)
            is_permitted = permitted(allow, block, written.get("emailAddress"))
            outcomes.append(is_permitted)
            expected = (200, 1) if is_permitted else (403, 0)
            case = (allow, block, written, response.text)
            assert (response.status_code, len(writes(content))) == expected, case
    assert {True, False} == set(outcomes)
