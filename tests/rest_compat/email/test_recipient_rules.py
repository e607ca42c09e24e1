"""Recipient rules on mail: whoever a token may not write to gets nothing, by REST and GraphQL."""

import shutil
from collections import Counter
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import getaddresses
from itertools import count, cycle

import pytest
import world as worlds
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from run_sizes import times
from world import MAILBOXES, ME_A, ME_B, WRITES, api_id

from sandbox.mail.store import Account

MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
ME = {"PROVIDER_A": ME_A, "PROVIDER_B": ME_B}
WORK = {"allow": ["@work.example"]}
NUMBERS = count(1)


def writes(world):
    return [call for call in world.calls() if call["method"] != "GET"]


def recipients_of(mail):
    """The addresses that a sent message was delivered to."""
    message = message_from_bytes(mail.raw, policy=policy.default)
    headers = [str(value) for name in ("To", "Cc", "Bcc") for value in message.get_all(name, ())]
    return sorted(address.lower() for _, address in getaddresses(headers))


def receive(world, provider, **headers):
    """Store a message to the account; return its id."""
    message = EmailMessage()
    message["Message-ID"] = f"<{next(NUMBERS)}@rules.example>"
    message["Subject"] = "Lease"
    for name, value in {"From": "bo@work.example", "To": ME[provider], **headers}.items():
        message[name.replace("_", "-")] = value
    message.set_content("Words.")
    mail = world.sandbox.state.mails.add(
        MAILBOXES[provider],
        message.as_bytes(policy=policy.default.clone(utf8=True)),
        folder="inbox",
        labels=(),
        received_ms=1_700_000_000_000,
    )
    return api_id(MAILBOXES[provider], mail.immutable_id)


async def post(world, path, body, **token_settings):
    token = await world.token(token_settings)
    world.forget_calls()
    async with world.client(token) as client:
        return await client.post(path, json=body)


def refusal(response, message, *fields):
    details = [
        {"field": field, "message": "This token may not write to this recipient."}
        for field in fields
    ]
    return {
        "error": "RECIPIENT_NOT_ALLOWED",
        "message": message,
        "requestId": response.headers["x-request-id"],
        **({"details": details} if details else {}),
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": "RECIPIENT_NOT_ALLOWED",
        "errorMessage": message,
    }


async def test_a_message_with_a_stranger_in_bcc_is_refused_and_reaches_nothing(world):
    body = {
        "to": [{"email": "bo@work.example"}],
        "bcc": [{"email": "Bo+x@Work.Example"}, {"email": "x@else.example"}],
        "subject": "s",
        "body": "b",
    }
    response = await post(world, SEND, body, recipientRules=WORK)

    assert response.status_code == 403
    message = "This token may not write to x@else.example."
    assert response.json() == refusal(response, message, "bcc[1].email")
    assert world.calls() == []


async def test_graphql_refuses_alike(world):
    document = (
        'mutation { sendEmail(input: {to: [{email: "x@else.example"}], subject: "", body: ""})'
        " { success } }"
    )
    response = await post(world, "/graphql", {"query": document}, recipientRules=WORK)

    (error,) = response.json()["errors"]
    assert error["message"] == "This token may not write to x@else.example."
    assert error["extensions"]["code"] == "RECIPIENT_NOT_ALLOWED"
    assert error["extensions"]["httpStatus"] == 403
    assert error["extensions"]["details"] == [
        {"field": "to[0].email", "message": "This token may not write to this recipient."}
    ]
    assert world.calls() == []


@pytest.mark.parametrize("rules", [{}, {"allow": []}, {"allow": ["*"], "block": ["*"]}])
async def test_rules_that_allow_nobody_refuse_every_recipient(world, rules):
    body = {"to": [{"email": "bo@work.example"}], "subject": "s", "body": "b"}
    response = await post(world, SEND, body, recipientRules=rules)

    assert response.status_code == 403
    assert world.calls() == []


@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize(
    ("headers", "reply_all", "message"),
    [
        pytest.param(
            {"Reply_To": "secret@else.example"},
            False,
            "This token may not write to another recipient.",
            id="Reply-To",
        ),
        pytest.param(
            {"Cc": "Team: secret@else.example, other@else.example;, carla@work.example"},
            True,
            "This token may not write to 2 other recipients.",
            id="a group in Cc",
        ),
    ],
)
async def test_derived_strangers_are_counted_and_nothing_is_written(
    world, provider, headers, reply_all, message
):
    email_id = receive(world, provider, **headers)
    response = await post(
        world,
        f"{MESSAGES}/{email_id}/reply",
        {"body": "b", "replyAll": reply_all},
        recipientRules=WORK,
    )

    assert response.status_code == 403
    assert response.json() == refusal(response, message)
    assert writes(world) == []
    assert world.sent(MAILBOXES[provider]) == []


@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize("action", ["send", "forward", "held"])
async def test_the_domain_that_the_rules_compare_is_written(world, provider, action):
    email_id = receive(world, provider)
    body = {"to": [{"email": "Bo+x@w\u1d52rk.EXAMPLE"}], "body": "b"}
    path = f"{MESSAGES}/{email_id}/forward" if action == "forward" else SEND
    if action != "forward":
        body |= {"subject": "s", "connectionId": world.connections[provider]}
    settings = {"sendMode": "draft"} if action == "held" else {}
    response = await post(world, path, body, recipientRules=WORK, **settings)

    assert response.status_code == (202 if action == "held" else 200), response.text
    folder = "drafts" if action == "held" else "sent"
    mails = world.sandbox.state.mails.all(MAILBOXES[provider])
    (written,) = [mail for mail in mails if mail.folder == folder and b"Bo+x@" in mail.raw]
    assert recipients_of(written) == ["bo+x@work.example"]


@pytest.mark.parametrize("provider", MAILBOXES)
async def test_a_reply_is_written_to_the_domain_that_the_rules_compare(world, provider):
    email_id = receive(world, provider, Reply_To="desk@b\u00fccher.example")
    response = await post(
        world,
        f"{MESSAGES}/{email_id}/reply",
        {"body": "b"},
        recipientRules={"allow": ["@xn--bcher-kva.example"]},
    )

    assert response.status_code == 200, response.text
    (sent,) = world.sent(MAILBOXES[provider])
    assert recipients_of(sent) == ["desk@xn--bcher-kva.example"]


@pytest.mark.parametrize("provider", MAILBOXES)
async def test_an_allowed_reply_to_all_goes_to_exactly_the_derived_recipients(world, provider):
    email_id = receive(
        world,
        provider,
        Reply_To="Desk <desk+42@work.example>",
        To=f"{ME[provider].upper()}, dan@work.example",
        Cc="carla@work.example, DAN@work.example",
    )
    response = await post(
        world, f"{MESSAGES}/{email_id}/reply", {"body": "b", "replyAll": True}, recipientRules=WORK
    )

    assert response.status_code == 200
    (sent,) = world.sent(MAILBOXES[provider])
    assert recipients_of(sent) == ["carla@work.example", "dan@work.example", "desk+42@work.example"]


@pytest.mark.parametrize("provider", MAILBOXES)
async def test_a_forward_to_a_stranger_is_refused(world, provider):
    email_id = receive(world, provider)
    body = {"to": [{"email": "bo@work.example"}], "cc": [{"email": "x@else.example"}]}
    response = await post(world, f"{MESSAGES}/{email_id}/forward", body, recipientRules=WORK)

    message = "This token may not write to x@else.example."
    assert response.status_code == 403
    assert response.json() == refusal(response, message, "cc[0].email")
    assert world.calls() == []


@pytest.mark.slow
@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize("mode", ["strict", "basic"])
@pytest.mark.parametrize(
    ("hidden", "headers"),
    [
        pytest.param("from", {}, id="from"),
        pytest.param("cc", {"Cc": "{}"}, id="cc"),
        pytest.param("to", {"From": "me", "To": "{}"}, id="to of an own message"),
    ],
)
async def test_hidden_recipients_give_the_same_bytes_in_two_worlds(
    world, provider, mode, hidden, headers
):
    answers = []
    for address in ("bo@work.example", "x@else.example"):
        named = {
            name: ME[provider] if value == "me" else value.format(address)
            for name, value in headers.items()
        }
        email_id = receive(world, provider, **({"From": address} | named))
        visible = [word for word in ("from", "to", "cc", "body") if word != hidden]
        response = await post(
            world,
            f"{MESSAGES}/{email_id}/reply",
            {"body": "b", "replyAll": hidden == "cc"},
            recipientRules=WORK,
            visibleEmailFields=visible,
            maskMode=mode,
        )
        request_id = response.headers["x-request-id"].encode()
        answers.append((response.status_code, response.content.replace(request_id, b"")))
        assert response.json()["error"] == "FIELD_NOT_VISIBLE"
        assert writes(world) == []

    assert answers[0] == answers[1]


# -- generated messages against an oracle of its own -----------------------------------------------

ADDRESSES = (
    "bo@work.example",
    "Bo+tag@WORK.example",
    "carla@work.example",
    "boss@work.example",
    "x@else.example",
    "kim@bücher.example",
    "kim@xn--bcher-kva.example",
    ME_A,
    ME_B,
    "Sales@own.example",
)
ALIAS = "sales@own.example"  # of both accounts
# Address -> its mailbox and domain, written by hand: the oracle computes no normal form.
KNOWN = {
    "bo@work.example": ("bo", "work"),
    "Bo+tag@WORK.example": ("bo", "work"),
    "carla@work.example": ("carla", "work"),
    "boss@work.example": ("boss", "work"),
    "x@else.example": ("x", "else"),
    "kim@bücher.example": ("kim", "books"),
    "kim@xn--bcher-kva.example": ("kim", "books"),
    ME_A: ("me", "a"),
    ME_B: ("me", "b"),
    "Sales@own.example": ("sales", "own"),
}
PATTERNS = {
    "*": lambda mailbox: True,
    "@work.example": lambda mailbox: mailbox[1] == "work",
    "@bücher.example": lambda mailbox: mailbox[1] == "books",
    "BO@work.example": lambda mailbox: mailbox == ("bo", "work"),
    '"boss"@work.example': lambda mailbox: mailbox == ("boss", "work"),
    "x+y@else.example": lambda mailbox: mailbox == ("x", "else"),
    ME_A: lambda mailbox: mailbox == ("me", "a"),
}
DELIVERED = {address.lower(): mailbox for address, mailbox in KNOWN.items()}


def permitted(rules, mailbox):
    def matches(action):
        return any(PATTERNS[pattern](mailbox) for pattern in rules[action])

    return matches("allow") and not matches("block")


people = st.lists(st.sampled_from(ADDRESSES), max_size=3)
patterns = st.sampled_from(sorted(PATTERNS))
tokens = st.fixed_dictionaries(
    {
        "recipientRules": st.fixed_dictionaries(
            {"allow": st.lists(patterns, max_size=3), "block": st.lists(patterns, max_size=1)}
        ),
        "hidden": st.sampled_from([None, None, None, "from", "to", "cc"]),
        "maskMode": st.sampled_from(["strict", "basic"]),
    }
)
header = st.lists(st.sampled_from([a for a in ADDRESSES if a.isascii()]), max_size=3)
calls = st.tuples(
    st.sampled_from(sorted(MAILBOXES)),
    st.one_of(
        st.tuples(st.just("send"), people.filter(bool), people, people),
        st.tuples(st.just("forward"), people.filter(bool), people),
        st.tuples(st.sampled_from(["reply", "replyAll"]), header, header, header),
    ),
)


def drawn(strategy, number, part):
    """Draw *number* examples, the same ones for the same *part* of a run."""
    examples = []

    @seed(part)
    @settings(max_examples=number, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def draw(example):
        examples.append(example)

    draw()
    return examples


def hides_recipients(call, provider, hidden):
    """Whether recipients would be derived from the hidden field."""
    kind, author, *_ = call
    if kind == "reply" and hidden == "to":
        return bool(author) and not others(author, provider)
    return hidden in {"reply": ("from",), "replyAll": ("from", "to", "cc")}.get(kind, ())


CALLS = times(100)
CALLS_PER_WORLD = 500


def entries(addresses):
    return [{"email": address} for address in addresses]


async def run_call(world, client, provider, call):
    kind, *groups = call
    if kind == "send":
        names = ("to", "cc", "bcc")
        body = {name: entries(group) for name, group in zip(names, groups, strict=True)}
        connection = world.connections[provider]
        body |= {"subject": "s", "body": "b", "connectionId": connection}
        return await client.post(SEND, json=body), [
            address for group in groups for address in group
        ]
    if kind == "forward":
        email_id = receive(world, provider)
        body = {name: entries(group) for name, group in zip(("to", "cc"), groups, strict=True)}
        response = await client.post(f"{MESSAGES}/{email_id}/forward", json=body)
        return response, [address for group in groups for address in group]
    reply_to, to, cc = groups
    named = {"Reply_To": reply_to, "To": to, "Cc": [f"Team: {', '.join(cc)};"] if cc else []}
    headers = {name: ", ".join(group) for name, group in named.items() if group}
    email_id = receive(world, provider, **headers)
    body = {"body": "b", "replyAll": kind == "replyAll"}
    author = reply_to or ["bo@work.example"]
    chosen = others(author, provider) or others(to or [ME[provider]], provider)
    if kind == "replyAll":
        chosen += others(to, provider) + others(cc, provider)
    return await client.post(f"{MESSAGES}/{email_id}/reply", json=body), chosen


def sent_ids(world, provider):
    """The sent messages by id; on provider A one to the account itself is in the inbox."""
    return {
        mail.immutable_id: mail
        for mail in world.sandbox.state.mails.all(MAILBOXES[provider])
        if mail.folder == "sent" or "SENT" in mail.labels
    }


def others(addresses, provider):
    own = {ME[provider], ALIAS}
    return [address for address in addresses if address.lower() not in own]


class Tally:
    """Checks the outcome of each generated call, and counts the kinds of outcomes."""

    def __init__(self):
        self.outcomes = Counter()
        self.hidden_answers = {}

    def check(self, call, token, derived, response, effects):
        """*effects* are the mails that the call sent, and its writes upstream."""
        new, written = effects
        provider, (kind, *_) = call
        rules, hidden = token["recipientRules"], token["hidden"]
        case = (call, token, response.text)
        if hides_recipients(call[1], provider, hidden):
            self.outcomes["hidden"] += 1
            assert (response.status_code, new, written) == (403, [], []), case
            request_id = response.headers["x-request-id"].encode()
            answers = self.hidden_answers.setdefault((kind, hidden), set())
            answers.add(response.content.replace(request_id, b""))
            assert response.json()["error"] == "FIELD_NOT_VISIBLE"
        elif not derived:
            assert (response.status_code, new) == (400, []), case
        elif not all(permitted(rules, KNOWN[address]) for address in derived):
            self.outcomes["refused"] += 1
            assert (response.status_code, new, written) == (403, [], []), case
            assert response.json()["error"] == "RECIPIENT_NOT_ALLOWED"
        else:
            self.outcomes["delivered"] += 1
            assert (response.status_code, len(new)) == (200, 1), case
            delivered = {DELIVERED[address] for address in recipients_of(new[0])}
            assert delivered == {KNOWN[address] for address in derived}, case
            assert all(permitted(rules, mailbox) for mailbox in delivered), case


PARTS = [
    min(CALLS_PER_WORLD, CALLS - done) for done in range(0, CALLS, CALLS_PER_WORLD)
]  # calls of each


@pytest.mark.slow
@pytest.mark.parametrize(("part", "wanted"), list(enumerate(PARTS)))
async def test_nothing_outside_the_rules_is_ever_delivered(world_template, tmp_path, part, wanted):
    """
    Generated writes: each is delivered if and only if the oracle allows all.

    A refusal because of hidden recipients has the same bytes whoever they are.
    """
    tally = Tally()
    examples, settings_of_tokens = drawn(calls, wanted, part), drawn(tokens, 50, part)
    async with worlds.opened(*world_template, tmp_path / "rules", rate_limits="off") as world:
        await run_part(world, examples, settings_of_tokens, tally)
    shutil.rmtree(tmp_path / "rules")
    assert tally.outcomes["refused"] > wanted // 10
    assert tally.outcomes["delivered"] > wanted // 50
    assert tally.outcomes["hidden"] > wanted // 50
    assert {len(answers) for answers in tally.hidden_answers.values()} == {1}


async def read_aliases_of_provider_b(world):
    """Give the account of provider B the scope that its aliases are read with."""
    scopes = [*WRITES["PROVIDER_B"], "User.Read"]
    issued = world.sandbox.state.tokens.issue("providerB", ME_B, scopes)
    change = {"grantedScopes": scopes, "credentials": {"accessToken": issued}}
    url = f"/api/connections/{world.connections['PROVIDER_B']}"
    assert (await world.admin.patch(url, json=change)).status_code == 200


async def run_part(world, examples, settings_of_tokens, tally):
    """Make the calls of *examples* in one world, with one token after another."""
    # The run sends more than a person may.
    world.sandbox.upstreams["providerA"].quota.allowance = None
    mails = world.sandbox.state.mails
    for provider, mailbox in MAILBOXES.items():
        mails.set_account(mailbox, Account(ME[provider], "Me", "", (ALIAS,)))
    await read_aliases_of_provider_b(world)
    secrets = []
    for token in settings_of_tokens:
        words = [
            word for word in ("from", "to", "cc", "body", "attachments") if word != token["hidden"]
        ]
        settings = {"visibleEmailFields": ["all"] if token["hidden"] is None else words}
        settings |= {name: token[name] for name in ("recipientRules", "maskMode")}
        secrets.append(await world.token(settings))
    for call, (token, secret) in zip(
        examples, cycle(zip(settings_of_tokens, secrets, strict=True))
    ):
        provider, example = call
        before = sent_ids(world, provider).keys()
        async with world.client(secret) as client:
            response, derived = await run_call(world, client, provider, example)
        after = sent_ids(world, provider)
        new = [after[number] for number in after.keys() - before]
        tally.check(call, token, derived, response, (new, writes(world)))
        world.forget_calls()
