"""Containment of grants and directions of changes, against the gates themselves."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random

import generated_rules
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import gates, timeframe
from policy.containment import SETTINGS as ALGEBRA
from policy.containment import (
    Direction,
    direction_of_end,
    direction_of_rule,
    direction_of_set,
    directions_of_settings,
    meet,
    narrowed_settings,
    widened_settings,
)
from policy.grants import WIDEST_ACCOUNT, Grant, validate
from policy.rules import RuleSet
from policy.settings import DEFAULTS
from policy.vocabulary import (
    AgentTools,
    CalendarAccessLevel,
    CalendarField,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    MaskMode,
    SearchTotals,
    SendMode,
    TaskField,
    TaskOp,
    TaskProvider,
    WriteMode,
)


def test_every_attribute_of_a_grant_is_compared():
    compared = {field.name for field in fields(Grant) if field.compare}

    assert set(ALGEBRA) == compared
    assert {row.setting for row in ALGEBRA.values()} == set(DEFAULTS)


@pytest.mark.parametrize(
    ("narrow", "wide", "settings"),
    [
        ({}, {"emailAccessEnabled": True}, ["emailAccessEnabled"]),
        (
            {"calendarAccessLevel": "view_only"},
            {"calendarAccessLevel": "full_access"},
            ["calendarAccessLevel"],
        ),
        ({"timeframePastDays": 5}, {"timeframePastDays": 6}, ["timeframePastDays"]),
        ({"timeframePastDays": 5}, {"timeframePastDays": None}, ["timeframePastDays"]),
        ({"allowedCalendarIds": [1]}, {"allowedCalendarIds": [1, 2]}, ["allowedCalendarIds"]),
        ({"allowedCalendarIds": []}, {"allowedCalendarIds": None}, ["allowedCalendarIds"]),
        (
            {"taskBoards": [{"boardId": "1", "allowCreate": False}]},
            {"taskBoards": [{"boardId": "1"}]},
            ["taskBoards"],
        ),
        ({"taskBoards": [{"boardId": "1"}]}, {"taskBoards": [{"boardId": "2"}]}, ["taskBoards"]),
        ({"writableTaskFields": ["a"]}, {"writableTaskFields": ["all"]}, ["writableTaskFields"]),
        (
            {"recipientRules": {}},
            {"recipientRules": {"allow": ["a@x.example"]}},
            ["recipientRules"],
        ),
        ({"recipientRules": {"allow": ["@x.example"]}}, {}, ["recipientRules"]),
        ({"recipientRules": {"allow": ["*"]}}, {"recipientRules": None}, []),
        (
            {"recipientRules": {"allow": ["@x.example"], "block": ["a@x.example"]}},
            {"recipientRules": {"allow": ["@x.example"]}},
            ["recipientRules"],
        ),
        ({"maskMode": "strict"}, {"maskMode": "basic"}, ["maskMode"]),
        ({"quota": {"perMinute": 5}}, {"quota": None}, ["quota"]),
        ({"visibleEmailFields": ["from"]}, {"visibleEmailFields": ["all"]}, ["visibleEmailFields"]),
    ],
)
def test_a_wider_setting_is_named_and_a_narrower_one_is_not(narrow, wide, settings):
    before, after = Grant.read(validate(narrow)), Grant.read(validate(wide))

    assert widened_settings(before, after) == settings
    if narrow.get("taskBoards") is None or wide["taskBoards"][0]["boardId"] == "1":
        assert widened_settings(after, before) == []


def words(vocabulary):
    return st.sets(st.sampled_from([*vocabulary])).map(sorted)


def limit(*numbers):
    return st.none() | st.sampled_from(numbers)


NUMBERS = (1, 2, 3)
EVERYONE_ELSE = "new@z.example"
ADDRESSES = ("a@x.example", "b@x.example", "a@y.example", EVERYONE_ELSE, None)
recipients = st.lists(st.sampled_from(["*", "@x.example", "a@x.example", "a@y.example"]))
documents = st.sampled_from(["any", "saved"]) | st.lists(st.sampled_from(["a", "b", "c"]))
boards = st.fixed_dictionaries(
    {"boardId": st.sampled_from(["1", "2"]), "allowCreate": st.booleans()},
    optional={"provider": st.sampled_from([*TaskProvider])},
)
SETTINGS = {
    "emailAccessEnabled": st.booleans(),
    "allowedEmailOperations": words([*EmailOp, "read_only"]),
    "visibleEmailFields": words([*EmailField, "all"]),
    "calendarAccessEnabled": st.booleans(),
    "calendarAccessLevel": st.sampled_from([*CalendarAccessLevel]),
    "visibleCalendarFields": words(CalendarField),
    "timeframePastDays": limit(*NUMBERS),
    "timeframeFutureDays": limit(*NUMBERS),
    "allowedCalendarIds": st.none() | st.lists(st.sampled_from(NUMBERS)),
    "allowedTaskOperations": words(TaskOp),
    "taskBoards": st.none() | st.lists(boards, max_size=3),
    "visibleTaskFields": words(TaskField),
    "writableTaskFields": st.lists(st.sampled_from(["a", "b", "all"])),
    "defaultTaskProvider": st.none() | st.sampled_from([*TaskProvider]),
    "strictParameters": st.booleans(),
    "collabAccessEnabled": st.booleans(),
    "allowedCollabOperations": words([*CollabOp, "write_file"]),
    "collabAllowAllDefault": st.booleans(),
    "visibleCollabFields": words(CollabField),
    "collabSearchTotals": st.sampled_from([*SearchTotals]),
    "allowedConnectionIds": st.none() | st.lists(st.sampled_from(NUMBERS)),
    "recipientRules": st.none()
    | st.fixed_dictionaries({}, optional={"allow": recipients, "block": recipients}),
    "sendMode": st.sampled_from([*SendMode]),
    "writes": st.sampled_from([*WriteMode]),
    "requireConnection": st.booleans(),
    "agentTools": st.sampled_from([*AgentTools]),
    "maskMode": st.sampled_from([*MaskMode]),
    "quota": st.none()
    | st.fixed_dictionaries(
        {}, optional=dict.fromkeys(["perMinute", "perDay"], st.sampled_from(NUMBERS))
    ),
    "allowChildren": st.booleans(),
    "subscriptionsEnabled": st.booleans(),
    "documents": documents,
    "documentsLogOnly": documents,
}
NAMED = {
    "allowedEmailOperations": words([*EmailOp, "read_only"]),
    "visibleEmailFields": words([*EmailField, "all"]),
    "sendMode": st.sampled_from([*SendMode]),
    "calendarAccessLevel": st.sampled_from([*CalendarAccessLevel]),
    "timeframePastDays": limit(*NUMBERS),
    "allowedCalendarIds": st.none() | st.lists(st.sampled_from(NUMBERS)),
    "taskBoards": st.none() | st.lists(boards, max_size=3),
    "visibleTaskFields": words(TaskField),
    "recipientRules": SETTINGS["recipientRules"],
}
SETTINGS["accounts"] = st.none() | st.dictionaries(
    st.sampled_from(["1", "2", "3"]), st.fixed_dictionaries({}, optional=NAMED), max_size=2
)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


# The names of the saved documents that a call runs; no setting names the last one.
CALLS = [(), ("a",), ("b",), ("c",), ("b", "c"), ("other",)]


def runs(rules, names):
    return rules is None or rules.allows(names)


def listed(values, member):
    return values is None or member in values


def in_window(grant, days):
    bounds = timeframe.allowed_range(grant, NOW)
    moment = NOW + timedelta(days=days)
    return (bounds.start is None or bounds.start <= moment) and (
        bounds.end is None or moment < bounds.end
    )


def within_quota(limit, spent):
    return limit is None or spent <= limit


def may_use_board(grant, board, provider, creates):
    return grant.task_boards is None or any(
        scope.board_id == board
        and scope.provider in {None, provider}
        and (scope.allow_create or not creates)
        for scope in grant.task_boards
    )


# Setting -> what it is asked about, and the answer of a grant: the gates' own where there is one.
QUESTIONS = {
    "emailAccessEnabled": ([0], lambda grant, _: grant.email_enabled),
    "allowedEmailOperations": (EmailOp, gates.allows),
    "visibleEmailFields": (EmailField, Grant.sees),
    "calendarAccessEnabled": ([0], lambda grant, _: grant.calendar_enabled),
    "visibleCalendarFields": (CalendarField, Grant.sees),
    "timeframePastDays": (range(-9, 0), in_window),
    "timeframeFutureDays": (range(1, 9), in_window),
    "allowedCalendarIds": (range(9), lambda grant, id_: listed(grant.calendar_ids, id_)),
    "allowedTaskOperations": (TaskOp, gates.allows),
    "taskBoards": (
        list(product("123", TaskProvider, [False, True])),
        lambda grant, target: may_use_board(grant, *target),
    ),
    "visibleTaskFields": (TaskField, Grant.sees),
    "writableTaskFields": ("abc", lambda grant, id_: listed(grant.writable_task_fields, id_)),
    "defaultTaskProvider": ([], bool),
    "requireConnection": ([0], lambda grant, _: not grant.requires_connection),
    "strictParameters": ([], bool),
    "collabAccessEnabled": ([0], lambda grant, _: grant.collab_enabled),
    "allowedCollabOperations": (CollabOp, gates.allows),
    "collabAllowAllDefault": ([0], lambda grant, _: grant.collab_allow_all),
    "visibleCollabFields": (CollabField, Grant.sees),
    "allowedConnectionIds": (range(9), lambda grant, id_: listed(grant.connection_ids, id_)),
    "recipientRules": (
        ADDRESSES,
        lambda grant, address: grant.recipients is None or grant.recipients.allows(address),
    ),
    "accounts": (
        [
            (connection, setting, index)
            for connection in "123"
            for setting in NAMED
            for index in range(25)
        ],
        lambda grant, asked: on_its_account(grant, *asked),
    ),
    "allowChildren": ([0], lambda grant, _: grant.allow_children),
    "subscriptionsEnabled": ([0], lambda grant, _: grant.subscriptions),
    "documents": (CALLS, lambda grant, names: runs(grant.documents, names)),
    "documentsLogOnly": (CALLS, lambda grant, names: runs(grant.documents_log_only, names)),
    "quota": (
        list(product(["per_minute", "per_day"], range(9))),
        lambda grant, use: within_quota(getattr(grant.quota, use[0]), use[1]),
    ),
}


def on_its_account(grant, connection, setting, index):
    """Answer a question about one setting of one account; one without settings allows all."""
    account = dict(grant.accounts).get(int(connection), WIDEST_ACCOUNT)
    if setting == "sendMode":
        return index == 0 and account.send_mode is SendMode.DIRECT
    if setting == "calendarAccessLevel":
        return index <= list(CalendarAccessLevel).index(account.calendar_level)
    asked, answer = QUESTIONS[setting]
    return index < len(asked) and answer(account, list(asked)[index])


def allowed(setting, grant):
    asked, answer = QUESTIONS[setting]
    return {thing for thing in asked if answer(grant, thing)}


@given(before=st.fixed_dictionaries(SETTINGS), after=st.fixed_dictionaries(SETTINGS))
def test_the_direction_of_every_setting_is_that_of_what_the_gates_allow(before, after):
    first, second = Grant.read(validate(before)), Grant.read(validate(after))
    directions = directions_of_settings(first, second)

    assert set(directions) == set(DEFAULTS) == set(SETTINGS)
    for setting in QUESTIONS:
        expected = direction_of_set(allowed(setting, first), allowed(setting, second))
        assert directions[setting] == expected, (setting, before[setting], after[setting])


@given(own=st.fixed_dictionaries(SETTINGS), ceiling=st.fixed_dictionaries(SETTINGS))
def test_the_meet_allows_exactly_what_both_allow(own, ceiling):
    stored = validate(own)
    first, second = Grant.read(stored), Grant.read(validate(ceiling))
    both = meet(first, [second])

    for setting in set(QUESTIONS) - {"quota"}:
        expected = allowed(setting, first) & allowed(setting, second)
        if setting in {"documents", "documentsLogOnly"}:
            # Of two documents with one text, each side may name another: the meet names neither.
            expected -= {("b", "c")} - allowed(setting, both)
        assert allowed(setting, both) == expected, (setting, own[setting], ceiling[setting])
    assert both.quota == first.quota
    assert both.default_task_provider == first.default_task_provider
    not_within = set(widened_settings(first, both)) | set(widened_settings(second, both))
    assert not_within <= {"quota"}
    shown = Grant.read(narrowed_settings(stored, first, both))
    assert widened_settings(shown, both) == widened_settings(both, shown) == []


@given(tokens=st.lists(st.fixed_dictionaries(SETTINGS), min_size=3, max_size=3))
def test_the_meet_does_not_depend_on_the_order_of_the_ancestors(tokens):
    own, *ceilings = (Grant.read(validate(settings)) for settings in tokens)
    there, back = meet(own, ceilings), meet(own, ceilings[::-1])

    assert widened_settings(there, back) == widened_settings(back, there) == []


@pytest.mark.parametrize(
    ("setting", "narrow", "wide"),
    [
        ("calendarAccessLevel", "free_busy_only", "view_filtered"),
        ("collabSearchTotals", "visible", "unfiltered"),
        ("sendMode", "draft", "direct"),
        ("writes", "effect", "direct"),
        ("agentTools", "tools", "graph"),
        ("maskMode", "strict", "basic"),
    ],
)
def test_a_setting_of_one_word_has_a_direction(setting, narrow, wide):
    narrower, wider = (Grant.read(validate({setting: word})) for word in (narrow, wide))

    assert directions_of_settings(narrower, wider)[setting] == "wider"
    assert directions_of_settings(wider, narrower)[setting] == "narrower"
    assert directions_of_settings(wider, wider)[setting] == "neither"
    assert meet(wider, [narrower]) == meet(narrower, [wider]) == narrower


def test_more_of_one_thing_and_less_of_another_is_neither():
    before, after = (Grant.read(validate({"allowedConnectionIds": ids})) for ids in ([1], [2]))

    assert directions_of_settings(before, after)["allowedConnectionIds"] == "neither"


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [(1, 2, "wider"), (None, 2, "narrower"), (2, None, "wider"), (2, 2, "neither")],
)
def test_a_later_end_is_wider(before, after, moved):
    assert direction_of_end(before, after) == moved


@given(seed=st.integers(0, 10**6))
def test_a_rule_moves_what_is_allowed_in_its_direction(seed):
    """An added rule of random worlds changes no decision against `direction_of_rule`."""
    made = generated_rules.world(Random(seed), policies=2)
    parents = generated_rules.parents_of(made.things)
    facts = [generated_rules.facts(thing, parents) for thing in made.things]
    for by_default, rules in made.policies:
        for number, rule in enumerate(rules):
            rest = [*rules[:number], *rules[number + 1 :]]
            before, after = (
                RuleSet.compile(some, allow_by_default=by_default) for some in (rest, rules)
            )
            changed = [
                (was.allowed, now.allowed)
                for was, now in zip(
                    map(before.decide, facts), map(after.decide, facts), strict=True
                )
                if was.allowed != now.allowed
            ]
            widens = direction_of_rule(rule.action, added=True) is Direction.WIDER
            assert set(changed) <= {(not widens, widens)}
            assert direction_of_rule(rule.action, added=False) is not direction_of_rule(
                rule.action, added=True
            )
