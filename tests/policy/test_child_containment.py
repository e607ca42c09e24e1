"""
Generated chains of tokens: whatever is changed, a child is allowed what all of its chain allow.

    TIMES=700 pytest tests/policy/test_child_containment.py

checks that many cases of an ancestor, a change and a descendant. The oracle asks each token of the
chain alone, by its gates and by plain sets, and never the meet.
"""

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import generated_rules
import pytest
from run_sizes import times

from policy import timeframe
from policy.caller import Caller, TokenPolicy, effective_policy
from policy.grants import Grant, validate
from policy.recipients import Recipient
from policy.refusals import Refusal
from policy.rules import Disclosure, RuleSet
from policy.vocabulary import (
    AgentTools,
    CalendarAccessLevel,
    CalendarField,
    CalendarOp,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    MaskMode,
    SearchTotals,
    SendMode,
    Surface,
    TaskField,
    TaskOp,
    TaskProvider,
    WriteMode,
)

pytestmark = pytest.mark.slow

CASES = times(300)
SEED = int(os.environ.get("CHILD_SEED", "20261123"))
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
IDS = (1, 2, 3)
PATTERNS = ("*", "@x.example", "@y.example", "a@x.example", "b@x.example", "a@y.example")
DOCUMENTS = [(), ("a",), ("b",), ("c",), ("other",)]  # names of the documents that a call runs
ADDRESSES = (None, "a@x.example", "B+tag@X.example", "c@x.example", "a@y.example", "z@z.example")
OPERATIONS = {
    Surface.EMAIL: tuple(EmailOp),
    Surface.CALENDAR: tuple(CalendarOp),
    Surface.TASKS: tuple(TaskOp),
    Surface.COLLAB: tuple(CollabOp),
}
FIELDS = (*EmailField, *CalendarField, *TaskField, *CollabField)


@dataclass(frozen=True)
class Connection:
    id: int
    kind: str
    provider: str = "PROVIDER_A"
    status: str = "active"
    can_write: bool = True
    account_email: str = "o@x.example"
    reconnect_url: None = None
    selected_site_ids: tuple = ()


KINDS = ("email", "email", "tasks", "calendar", "collab")
CONNECTIONS = tuple(Connection(number, kind) for number, kind in enumerate(KINDS, 1))


# The widest value of each setting whose default is not.
WIDEST = {
    "emailAccessEnabled": True,
    "calendarAccessEnabled": True,
    "collabAccessEnabled": True,
    "collabAllowAllDefault": True,
    "allowChildren": True,
    "subscriptionsEnabled": True,
    "allowedEmailOperations": ["all"],
    "allowedTaskOperations": ["all"],
    "allowedCollabOperations": ["all"],
    "calendarAccessLevel": "full_access",
    "maskMode": "basic",
    "sendMode": "direct",
    "writes": "direct",
    "requireConnection": False,
    "agentTools": "graph",
}


class Generator:
    """Random settings and rules; most settings are wide, so that much is allowed."""

    def __init__(self, random):
        self.random = random

    def setting(self, name):
        make = {
            "emailAccessEnabled": self.flag,
            "calendarAccessEnabled": self.flag,
            "collabAccessEnabled": self.flag,
            "collabAllowAllDefault": self.flag,
            "allowChildren": self.flag,
            "subscriptionsEnabled": self.flag,
            "allowedEmailOperations": lambda: self.words([*EmailOp, "all", "read_only"]),
            "allowedTaskOperations": lambda: self.words([*TaskOp, "all"]),
            "allowedCollabOperations": lambda: self.words([*CollabOp, "all", "write_file"]),
            "visibleEmailFields": lambda: self.words([*EmailField, "all"]),
            "visibleCalendarFields": lambda: self.words([*CalendarField, "all"]),
            "visibleTaskFields": lambda: self.words([*TaskField, "all"]),
            "visibleCollabFields": lambda: self.words([*CollabField, "all"]),
            "calendarAccessLevel": lambda: self.random.choice([*CalendarAccessLevel]).value,
            "timeframePastDays": lambda: self.random.choice([None, 0, 1, 7]),
            "timeframeFutureDays": lambda: self.random.choice([None, 0, 1, 7]),
            "allowedCalendarIds": self.ids,
            "allowedConnectionIds": lambda: self.random.choice([None, self.some([1, 2, 3, 4, 5])]),
            "taskBoards": self.boards,
            "writableTaskFields": lambda: self.some(["a", "b", "c", "all"]),
            "strictParameters": lambda: self.random.random() < 0.5,
            "defaultTaskProvider": lambda: self.random.choice([None, *TaskProvider]),
            "collabSearchTotals": lambda: self.random.choice([*SearchTotals]).value,
            "sendMode": lambda: self.random.choice([*SendMode]).value,
            "writes": lambda: self.random.choice([*WriteMode]).value,
            "requireConnection": self.flag,
            "accounts": lambda: None,  # tests/policy/test_accounts.py
            "agentTools": lambda: self.random.choice([*AgentTools]).value,
            "maskMode": lambda: self.random.choice([*MaskMode]).value,
            "recipientRules": lambda: self.random.choice(
                [None, {"allow": self.some(PATTERNS), "block": self.some(PATTERNS[1:], 0.2)}]
            ),
            "documents": self.documents,
            "documentsLogOnly": self.documents,
            "quota": lambda: self.random.choice([None, {"perMinute": self.random.randint(0, 9)}]),
        }
        return make[name]()

    def flag(self):
        return self.random.random() < 0.8

    def some(self, values, share=0.6):
        return [value for value in values if self.random.random() < share]

    def words(self, values):
        return self.some(values, self.random.choice([0.2, 0.8, 1]))

    def ids(self):
        return self.random.choice([None, self.some(IDS)])

    def documents(self):
        return self.random.choice(["any", "any", "saved", self.some(["a", "b", "c"])])

    def boards(self):
        board = lambda: {  # noqa: E731 - one expression, used once
            "boardId": self.random.choice("12"),
            "allowCreate": self.flag(),
            **self.random.choice([{}, {"provider": "BOARDS"}, {"provider": "PROJECTS"}]),
        }
        return self.random.choice([None, [board() for _ in range(self.random.randint(0, 3))]])

    def settings(self):
        return {name: self.setting(name) for name in validate({})}


def may(check):
    """Return whether a gate lets pass."""
    try:
        check()
    except Refusal:
        return False
    return True


def allowed_by_gates(caller):
    """Return all that a caller may do, asked of the gates that resolvers ask."""
    allowed = {
        ("operation", operation)
        for surface, operations in OPERATIONS.items()
        for operation in operations
        if may(lambda: caller.admit(surface, operation))  # noqa: B023 - called at once
    }
    allowed |= {("field", type(field), field) for field in FIELDS if not caller.hides(field)}
    allowed |= {
        ("filter", type(field), field)
        for field in FIELDS
        if may(lambda: caller.require_visible("A filter", field))  # noqa: B023
    }
    for surface in Surface:
        if may(lambda: caller.usable_connections(surface)):  # noqa: B023
            allowed |= {("use", each.id) for each in caller.usable_connections(surface)}
    allowed |= {
        ("recipient", address)
        for address in ADDRESSES
        if may(lambda: caller.require_recipients([Recipient(address)]))  # noqa: B023
    }
    allowed |= {
        ("derive", field)
        for field in (EmailField.FROM, EmailField.TO)
        if may(lambda: caller.require_visible_recipients("Replying", field))  # noqa: B023
    }
    allowed |= {
        ("documents", names)
        for names in DOCUMENTS
        if may(lambda: caller.require_document(names))  # noqa: B023 - called at once
    }
    if may(lambda: caller.require_one(CONNECTIONS[:2])):
        allowed.add(("unnamed",))
    grant = caller.grant
    bounds = timeframe.allowed_range(grant, NOW)
    allowed |= {
        ("day", day)
        for day in range(-9, 10)
        if bounds.start <= NOW + timedelta(days=day) < bounds.end
    }
    allowed |= {
        ("calendar", number)
        for number in IDS
        if grant.calendar_ids is None or number in grant.calendar_ids
    }
    allowed |= {
        ("column", column)
        for column in "abcd"
        if grant.writable_task_fields is None or column in grant.writable_task_fields
    }
    allowed |= {
        ("board", board, provider, creates)
        for board in "123"
        for provider in TaskProvider
        for creates in (False, True)
        if grant.task_boards is None
        or any(
            scope.board_id == board
            and scope.provider in {None, provider}
            and (scope.allow_create or not creates)
            for scope in grant.task_boards
        )
    }
    if grant.collab_search_totals is SearchTotals.UNFILTERED:
        allowed.add(("totals",))
    if grant.send_mode is SendMode.DIRECT:
        allowed.add(("send",))
    if grant.write_mode is WriteMode.DIRECT:
        allowed.add(("write at once",))
    if grant.agent_tools is AgentTools.GRAPH:
        allowed.add(("graph tools",))
    if grant.allow_children:
        allowed.add(("children",))
    if grant.subscriptions:
        allowed.add(("subscriptions",))
    return allowed


def allowed_by_rules(rules, facts):
    """Return what rules allow on resources, asked by every question that resolvers ask."""
    return {
        *(("see", number) for number, known in enumerate(facts) if rules.decide(known).allowed),
        *(("list", n) for n, known in enumerate(facts) if rules.may_contain_visible(known)),
        *(("all", n) for n, known in enumerate(facts) if rules.allows_contents(known)),
        *(("kept", n) for n, known in enumerate(facts) if rules.blocking_rule(known) is None),
        *(
            ("known", n)
            for n, known in enumerate(facts)
            if rules.disclosure(known) is Disclosure.DISCLOSED
        ),
        *(
            ("asked", n)
            for n, known in enumerate(facts)
            if rules.disclosure(known) is not Disclosure.DENIED
        ),
        *(
            ("create", n)
            for n, (parent, child) in enumerate(pairwise(facts))
            if rules.allows_creation(parent, child)
        ),
    }


def policy(number, settings, rules):
    stored = validate(settings)
    grant = Grant.read(stored)
    return TokenPolicy(
        token_id=number,
        grant=grant,
        settings=stored,
        rules=RuleSet.compile(rules, allow_by_default=grant.collab_allow_all),
    )


def caller(chain):
    own, *ancestors = chain
    made = effective_policy(own, ancestors)
    return Caller(
        token_id=own.token_id,
        token_name="t",
        key_id="k",
        expires_at=None,
        policy_rev=1,
        operator_id="o",
        grant=made.grant,
        settings=made.settings,
        connections=CONNECTIONS,
        rules=made.rules,
        narrowed=made.narrowed,
        ancestors=made.ancestors,
    )


class Level:
    """A token of a chain, and what it allows when asked alone."""

    def __init__(self, number, settings, rules, facts):
        self.policy = policy(number, settings, rules)
        self.by_gates = allowed_by_gates(caller([self.policy]))
        self.by_rules = allowed_by_rules(self.policy.rules, facts)


def check_chain(levels, facts):
    """Hold each descendant against its ancestors; return how many pairs there were."""
    for start in range(len(levels) - 1):
        chain = levels[start:]
        child = caller([level.policy for level in chain])
        expected = set.intersection(*(level.by_gates for level in chain))
        by_gates = allowed_by_gates(child)
        # A field that one hides and another in `strict` mode: refused, although neither refuses it.
        stricter = {thing for thing in expected if thing[0] in {"filter", "derive"}}
        assert by_gates <= expected, by_gates - expected
        assert expected - by_gates <= stricter, expected - by_gates
        by_rules = set.intersection(*(level.by_rules for level in chain))
        assert allowed_by_rules(child.rules, facts) == by_rules
    return len(levels) * (len(levels) - 1) // 2


def test_a_child_is_allowed_what_its_whole_chain_allows_after_every_change():
    random, cases = Random(SEED), 0
    generate = Generator(random)
    while cases < CASES:
        world = generated_rules.world(random, policies=8)
        parents = generated_rules.parents_of(world.things)
        facts = [generated_rules.facts(thing, parents) for thing in world.things[:12]]
        settings = [generate.settings() for _ in range(random.randint(2, 4))]
        rules = [random.choice(world.policies)[1] for _ in settings]
        levels = [
            Level(number, *own, facts)
            for number, own in enumerate(zip(settings, rules, strict=True))
        ]
        for _ in range(8):
            cases += check_chain(levels, facts)
            changed = random.randrange(len(settings))  # an ancestor, or the child itself
            name = random.choice([*settings[changed]])
            settings[changed] = {**settings[changed], name: generate.setting(name)}
            if random.random() < 0.5:
                rules[changed] = random.choice(world.policies)[1]
            levels[changed] = Level(changed, settings[changed], rules[changed], facts)

    sys.stdout.write(f"{cases} cases, 0 mismatches\n")
    assert cases >= CASES


def test_what_an_ancestor_allows_beyond_the_child_changes_nothing_for_it():
    """Two worlds: parents that differ in what the child does not have are alike to the child."""
    random = Random(SEED)
    generate = Generator(random)
    for _ in range(min(CASES, 2000) // 10):
        child = validate(generate.settings())
        own = policy(1, child, ())
        # The same, and as wide as the setting can be, each setting by chance.
        wide = {name: WIDEST.get(name) for name in child}
        parents = [
            {name: random.choice([child, wide])[name] for name in child if name != "quota"}
            for _ in range(2)
        ]
        seen = [caller([own, policy(2, parent, ())]) for parent in parents]
        for below in seen:
            assert below.narrowed == ()
            assert dict(below.settings) == own.settings
            assert allowed_by_gates(below) == allowed_by_gates(caller([own]))
        first, second = ([below.access_info(surface) for surface in Surface] for below in seen)
        assert first == second
