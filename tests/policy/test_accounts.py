"""
Rights per account against an oracle that reads the JSON of the settings by itself.

A decision is one question about one connection: the token's settings, its accounts\', and those of
its ancestors must all allow it.
"""

import random
from dataclasses import dataclass

import pytest

from policy.accounts import ATTRIBUTES, on_account, require_narrower, write_mode_on
from policy.caller import Caller, TokenPolicy, effective_policy
from policy.containment import SETTINGS
from policy.grants import Grant, validate
from policy.refusals import InvalidInput
from policy.rules import RuleSet
from policy.settings import ACCOUNT_SETTINGS
from policy.vocabulary import Surface

IDS, ADDRESSES = ("1", "2", "3", "4"), ("a@x.example", "b@x.example", "a@y.example")
READS = {
    "email": ["search_emails", "view_email", "view_thread"],
    "tasks": ["view_boards", "view_items", "view_comments"],
    "collab": ["list_files", "search_files", "get_file_metadata", "download_file"],
}
WORDS = {  # setting -> words that are asked about
    "allowedEmailOperations": [*READS["email"], "send_email", "delete_email"],
    "visibleEmailFields": ["subject", "from", "body", "labels"],
    "visibleCalendarFields": ["title", "times", "attendees"],
    "allowedTaskOperations": [*READS["tasks"], "create_items", "delete_items"],
    "visibleTaskFields": ["name", "status"],
    "writableTaskFields": ["a", "b"],
    "allowedCollabOperations": ["list_files", "upload_file", "share_file"],
    "visibleCollabFields": ["name", "size", "owners"],
}
GROUPS = {
    "allowedEmailOperations": {"read_only": READS["email"]},
    "allowedTaskOperations": {"read_only": READS["tasks"]},
    "allowedCollabOperations": {"read_only": ["list_files"]},
}
LEVELS = ["free_busy_only", "view_filtered", "view_only", "full_access"]
LIMITS = {"timeframePastDays": (0, 3, 9), "timeframeFutureDays": (0, 3, 9)}
WRITES = ["approve", "effect", "direct"]
MODES = {"sendMode": ("draft", "direct"), "collabSearchTotals": ("visible", "unfiltered")}
KINDS = {
    "email": [
        "allowedEmailOperations",
        "visibleEmailFields",
        "sendMode",
        "recipientRules",
        "writes",
    ],
    "calendar": [
        "calendarAccessLevel",
        "visibleCalendarFields",
        "timeframePastDays",
        "timeframeFutureDays",
        "allowedCalendarIds",
    ],
    "tasks": [
        "allowedTaskOperations",
        "taskBoards",
        "visibleTaskFields",
        "writableTaskFields",
        "recipientRules",
        "writes",
    ],
    "collab": [
        "allowedCollabOperations",
        "visibleCollabFields",
        "collabSearchTotals",
        "recipientRules",
        "writes",
    ],
}


@dataclass(frozen=True)
class Connection:
    id: int
    kind: str
    status: str = "active"
    account_email: str = "o@x.example"


def chosen_value(name, chosen):
    """Return a random value of a setting."""
    some = lambda values: [each for each in values if chosen.random() < 0.6]  # noqa: E731
    if name in WORDS:
        return chosen.choice([["all"], some([*WORDS[name], *GROUPS.get(name, ())])])
    if name in LIMITS:
        return chosen.choice([None, 1, 5])
    if name in MODES:
        return chosen.choice(MODES[name])
    return {
        "calendarAccessLevel": lambda: chosen.choice(LEVELS),
        "writes": lambda: chosen.choice(WRITES),
        "allowedCalendarIds": lambda: chosen.choice([None, some([1, 2, 3])]),
        "taskBoards": lambda: chosen.choice(
            [None, [{"boardId": each, "allowCreate": chosen.random() < 0.5} for each in some("12")]]
        ),
        "recipientRules": lambda: chosen.choice(
            [None, {"allow": some(["*", "@x.example", *ADDRESSES]), "block": some(ADDRESSES[:1])}]
        ),
    }[name]()


def token_of(chosen):
    """Return random settings of a token with accounts."""
    names = [name for names in KINDS.values() for name in names]
    accounts = {
        each: {name: chosen_value(name, chosen) for name in names if chosen.random() < 0.4}
        for each in IDS
        if chosen.random() < 0.6
    }
    return {
        **{name: chosen_value(name, chosen) for name in names},
        **dict.fromkeys(
            ("emailAccessEnabled", "calendarAccessEnabled", "collabAccessEnabled"), True
        ),
        "accounts": chosen.choice([None, accounts, accounts, accounts]),
    }


# -- the oracle


def questions(kind):
    for name in KINDS[kind]:
        if name in WORDS:
            yield from ((name, word) for word in WORDS[name])
        elif name in LIMITS:
            yield from ((name, days) for days in LIMITS[name])
        elif name == "taskBoards":
            yield from ((name, (board, creates)) for board in "123" for creates in (False, True))
        else:
            things = {
                "calendarAccessLevel": LEVELS,
                "writes": WRITES,
                "allowedCalendarIds": [1, 2, 4],
                "recipientRules": ADDRESSES,
            }
            yield from ((name, thing) for thing in things.get(name, [True]))


def value_allows(name, value, thing):
    """Say whether the JSON value of one setting allows a thing."""
    if name in WORDS:
        named = {word for each in value for word in GROUPS.get(name, {}).get(each, [each])}
        return "all" in named or thing in named
    if name in MODES:
        return value == MODES[name][1]
    if name == "calendarAccessLevel":
        return LEVELS.index(thing) <= LEVELS.index(value)
    if name == "writes":
        return WRITES.index(thing) <= WRITES.index(value)
    if value is None:
        return True
    if name in LIMITS:
        return thing <= value
    if name == "allowedCalendarIds":
        return thing in value
    if name == "taskBoards":
        board, creates = thing
        return any(
            each["boardId"] == board and (each["allowCreate"] or not creates) for each in value
        )
    patterns = {"*", thing, "@" + thing.partition("@")[2]}
    return bool(patterns & set(value["allow"])) and not patterns & set(value["block"])


def settings_allow(settings, connection, name, thing):
    """Say whether a token and its account allow a thing on a connection."""
    account = (settings["accounts"] or {}).get(str(connection.id), {})
    return all(
        value_allows(name, given[name], thing)
        for given in (settings, account)
        if name in given and not (given is account and given[name] is None)
    )


# -- the answers of the policy


def grant_allows(grant, name, thing):
    (attribute,) = (key for key, row in SETTINGS.items() if row.setting == name)
    value = getattr(grant, attribute)
    if name in WORDS:
        return value is None or thing in value
    if name in MODES:
        return value == MODES[name][1]
    if name == "calendarAccessLevel":
        return LEVELS.index(thing) <= LEVELS.index(value)
    if name == "writes":
        return WRITES.index(thing) <= WRITES.index(value)
    if value is None:
        return True
    if name in LIMITS:
        return thing <= value
    if name == "allowedCalendarIds":
        return thing in value
    if name == "taskBoards":
        board, creates = thing
        return any(each.board_id == board and (each.allow_create or not creates) for each in value)
    return value.allows(thing)


def caller_with(made, connections):
    return Caller(
        token_id=1,
        token_name="t",
        key_id="k",
        expires_at=None,
        policy_rev=1,
        operator_id="o",
        grant=made.grant,
        settings=made.settings,
        connections=connections,
    )


def policy(settings):
    stored = validate(settings)
    return TokenPolicy(
        token_id=1,
        grant=Grant.read(stored),
        settings=stored,
        rules=RuleSet.compile((), allow_by_default=True),
    )


@pytest.mark.tries(5_000, 50_000)
def test_a_call_on_an_account_may_do_what_all_settings_allow(tries):
    chosen = random.Random(tries)
    decided, allowed, narrowed = 0, 0, 0
    while decided < tries:
        chain = [token_of(chosen) for _ in range(chosen.choice([1, 1, 2, 3]))]
        made = effective_policy(policy(chain[0]), [policy(each) for each in chain[1:]])
        shown = Grant.read(made.settings)
        kinds = [chosen.choice([*KINDS]) for _ in IDS]
        connections = tuple(map(Connection, map(int, IDS), kinds))
        caller = caller_with(made, connections)
        joined = {}  # of the accounts of each kind
        for connection in connections:
            kind, grants = connection.kind, [caller.on(connection.id).grant]
            grants.append(on_account(shown, connection))
            for name, thing in questions(kind):
                expected = all(settings_allow(each, connection, name, thing) for each in chain)
                for grant in grants:
                    assert grant_allows(grant, name, thing) == expected, (name, thing, chain)
                key = (kind, name, thing)
                joined[key] = joined.get(key, False) or expected
                decided += 1
                allowed += expected
                narrowed += expected != grant_allows(made.grant, name, thing)
        for (_, name, thing), expected in joined.items():
            if made.grant.accounts and name not in {"recipientRules", "writes"}:
                assert grant_allows(caller.grant, name, thing) == expected, (name, thing, chain)
        if made.grant.accounts:
            check_writes(caller, chain, connections)
    assert min(allowed, decided - allowed, narrowed) > tries / 40


def check_writes(caller, chain, connections):
    """Compare how a caller's writes run with what the oracle says of each connection."""
    modes = {}  # kind -> index of the mode on each of its connections
    for each in connections:
        allowed = [
            thing
            for thing in WRITES
            if all(settings_allow(token, each, "writes", thing) for token in chain)
        ]
        if each.kind != "calendar":
            modes.setdefault(each.kind, []).append(len(allowed) - 1)
            assert (
                write_mode_on(caller.token_grant, connections, each.id, Surface(each.kind))
                == allowed[-1]
            )
    for kind, of_kind in modes.items():
        for unknown in (None, 99):
            assert (
                write_mode_on(caller.token_grant, connections, unknown, Surface(kind))
                == WRITES[min(of_kind)]
            )
    found = {index for of_kind in modes.values() for index in of_kind}
    if found:
        assert caller.write_modes == {WRITES[index] for index in found}
        assert caller.grant.write_mode == WRITES[max(found)]


@pytest.mark.parametrize(
    ("own", "sentences"),
    [
        ({}, None),
        ({"1": {"visibleEmailFields": ["all"]}}, None),
        ({"1": {"calendarAccessLevel": "free_busy_only"}}, None),
        ({"1": {"sendMode": "draft"}}, "Single accounts allow less than this."),
        (
            {"1": {"sendMode": "draft"}, "2": {"sendMode": "draft"}},
            "Mail is put into the Drafts folder for a person to send.",
        ),
        (
            {"1": {"recipientRules": {"allow": ["a@x.example"]}}},
            "Single accounts allow less than this.",
        ),
        ({"9": {"sendMode": "draft"}}, None),
    ],
)
def test_access_info_says_that_accounts_differ(own, sentences):
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"], "accounts": own}
    connections = (Connection(1, "email"), Connection(2, "email"), Connection(3, "calendar"))
    caller = caller_with(effective_policy(policy(settings), []), connections)

    assert caller.access_info(Surface.EMAIL) == sentences


def test_every_setting_of_accounts_narrows_the_surfaces_that_have_it():
    by_surface = {
        surface: [SETTINGS[attribute].setting for attribute in attributes]
        for surface, attributes in ATTRIBUTES.items()
    }
    assert by_surface == KINDS
    assert {name for names in KINDS.values() for name in names} == set(ACCOUNT_SETTINGS)


@pytest.mark.parametrize(
    ("accounts", "problem"),
    [
        ([], "It must be an object of at most 100 connection ids."),
        ({"x": {}}, "Not a connection id: x."),
        ({"0": {}}, "Not a connection id: 0."),
        ({"9223372036854775808": {}}, "Not a connection id: 9223372036854775808."),
        (
            {str(n): {} for n in range(1, 102)},
            "It must be an object of at most 100 connection ids.",
        ),
        ({"1": []}, "1: It must be an object of settings."),
        ({"1": {"quota": None}}, "1: An account cannot have quota."),
        ({"1": {"accounts": {}}}, "1: An account cannot have accounts."),
        ({"1": {"sendMode": "now"}}, "1.sendMode: It must be one of: direct, draft."),
    ],
)
def test_accounts_that_cannot_be_read_are_refused(accounts, problem):
    with pytest.raises(InvalidInput) as refused:
        validate({"accounts": accounts})

    ((detail),) = refused.value.details
    assert (detail.field, detail.message) == ("settings.accounts", problem)


def test_stored_accounts_that_cannot_be_read_reach_nothing():
    stored = {**validate({"allowedConnectionIds": [1]}), "accounts": {"1": {"sendMode": "now"}}}

    grant = Grant.read(stored)

    assert (grant.connection_ids, grant.accounts) == (frozenset(), ())


def test_an_account_that_allows_more_than_the_token_is_named():
    settings = validate(
        {
            "allowedEmailOperations": ["read_only"],
            "visibleEmailFields": ["subject"],
            "accounts": {
                "3": {"allowedEmailOperations": ["send_email"], "visibleEmailFields": []},
                "4": {"visibleEmailFields": ["all"], "sendMode": "draft"},
            },
        }
    )
    with pytest.raises(InvalidInput) as refused:
        require_narrower(settings)

    assert [detail.field for detail in refused.value.details] == [
        "settings.accounts.3.allowedEmailOperations",
        "settings.accounts.4.visibleEmailFields",
    ]
