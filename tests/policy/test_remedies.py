"""Remedies for refused calls: the narrowest changes, and how they are applied."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policy import timeframe
from policy.grants import DEFAULTS, Grant, validate
from policy.refusals import (
    AccessDenied,
    Blocked,
    BlockedAction,
    FieldNotVisible,
    InvalidInput,
    NoSuchProvider,
    NotFound,
    NoUsableConnection,
    NoWritableFields,
    OperationNotAllowed,
    OutsideBoards,
    OutsideCalendars,
    OutsideTimeframe,
    ReadOnlyConnection,
    SurfaceNotEnabled,
    TooManyRequests,
    Unauthenticated,
)
from policy.remedies import changes
from policy.remedies.changes import AddAllowRule, AddEntry, ExtendLifetime, RemoveRule, SetValue
from policy.remedies.obstacles import describe_obstacle
from policy.remedies.settings import DAY, TokenState, find_remedies
from policy.rule_facts import UNKNOWN, Facts, Rule
from policy.rules import RuleSet
from policy.vocabulary import (
    Code,
    CollabField,
    EmailField,
    EmailOp,
    Layer,
    RuleAction,
    RuleType,
    Surface,
    TaskOp,
    UnauthorizedReason,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass(frozen=True)
class Account:
    id: int
    kind: str = "email"
    provider: str = "PROVIDER_A"
    status: str = "active"
    can_write: bool = True
    account_email: str = "me@x.example"
    reconnect_url: str | None = None


def standing(settings=(), *, surface=Surface.EMAIL, connections=(), rules=(), **more):
    return TokenState(
        settings=dict(settings),
        rules=rules,
        connections=connections,
        surface=surface,
        now=NOW,
        **more,
    )


SIMPLE = [
    (SurfaceNotEnabled(Surface.EMAIL), [(SetValue("emailAccessEnabled", True),)]),
    (
        OperationNotAllowed(EmailOp.MARK_AS_READ, EmailOp.APPLY_LABELS),
        [
            (AddEntry("allowedEmailOperations", "mark_as_read"),),
            (AddEntry("allowedEmailOperations", "apply_labels"),),
        ],
    ),
    (OperationNotAllowed(TaskOp.VIEW_ITEMS), [(AddEntry("allowedTaskOperations", "view_items"),)]),
    (
        AccessDenied("Free and busy times only.", layer=Layer.OPERATION),
        [(SetValue("calendarAccessLevel", "view_filtered"),)],
    ),
    (AccessDenied("The provider does not let the account do this."), []),
    (
        FieldNotVisible("A filter", CollabField.FIELD_VALUES, CollabField.NAME),
        [
            (
                AddEntry("visibleCollabFields", "field_values"),
                AddEntry("visibleCollabFields", "name"),
            )
        ],
    ),
    (
        FieldNotVisible("The filter q", EmailField.SUBJECT, EmailField.BODY, any_of=True),
        [(AddEntry("visibleEmailFields", "subject"),), (AddEntry("visibleEmailFields", "body"),)],
    ),
    (
        OutsideBoards("BOARDS", ["1", "2"]),
        [
            (
                AddEntry(
                    "taskBoards", {"boardId": board, "provider": "BOARDS", "allowCreate": False}
                ),
            )
            for board in ("1", "2")
        ],
    ),
    (
        OutsideBoards("BOARDS", ["1"], to_create=True),
        [(AddEntry("taskBoards", {"boardId": "1", "provider": "BOARDS", "allowCreate": True}),)],
    ),
    (OutsideBoards("BOARDS"), []),
    (
        NoWritableFields(["state", "due"]),
        [(AddEntry("writableTaskFields", "state"),), (AddEntry("writableTaskFields", "due"),)],
    ),
    (
        Unauthenticated(UnauthorizedReason.EXPIRED),
        [(ExtendLifetime(int((NOW + DAY).timestamp()) * 1000),)],
    ),
    (Unauthenticated(UnauthorizedReason.REVOKED), []),
    (TooManyRequests(3), []),
    (InvalidInput("limit must be at least 1."), []),
    (NoSuchProvider(Surface.EMAIL), []),
    (NotFound("No email with this id."), []),
    (RuntimeError("a bug"), []),
]


@pytest.mark.parametrize(
    ("refusal", "expected"), SIMPLE, ids=lambda refusal: type(refusal).__name__
)
def test_a_refusal_has_the_narrowest_remedies(refusal, expected):
    assert list(find_remedies(refusal, standing())) == expected


def test_a_full_quota_is_raised_to_what_the_call_needs_and_no_further():
    refusal = TooManyRequests(3, layer=Layer.QUOTA)
    mine = standing(
        {"quota": {"perMinute": 5, "perDay": 100}}, spent={"perMinute": 5, "perDay": 9}, cost=2
    )
    assert list(find_remedies(refusal, mine)) == [
        (SetValue("quota", {"perMinute": 7, "perDay": 100}),)
    ]


def test_a_missing_provider_is_remedied_by_a_default_provider():
    refusal = InvalidInput("…", code=Code.PROVIDER_REQUIRED)
    refusal.connected_providers = ("BOARDS", "PROJECTS")
    assert list(find_remedies(refusal, standing())) == [
        (SetValue("defaultTaskProvider", "BOARDS"),),
        (SetValue("defaultTaskProvider", "PROJECTS"),),
    ]


def test_only_connections_excluded_by_settings_can_be_included():
    accounts = [
        Account(1),
        Account(2, status="needs_reauth"),
        Account(3, can_write=False),
        Account(4),
        Account(5, kind="calendar"),
    ]
    mine = standing({"allowedConnectionIds": [1]}, connections=accounts)
    four, three = AddEntry("allowedConnectionIds", 4), AddEntry("allowedConnectionIds", 3)

    assert list(find_remedies(NoUsableConnection(Surface.EMAIL), mine)) == [(four,), (three,)]
    assert list(find_remedies(NotFound("…"), mine)) == [(four,), (three,)]
    assert list(find_remedies(ReadOnlyConnection(), mine)) == [(four,)]
    everyone = standing({"allowedConnectionIds": None}, connections=accounts)
    assert list(find_remedies(NoUsableConnection(Surface.EMAIL), everyone)) == []


def test_an_excluded_calendar_is_remedied_by_allowing_it():
    refusal = OutsideCalendars("…", code=Code.CALENDAR_NOT_FOUND, calendar_id=7)
    assert list(find_remedies(refusal, standing({"allowedCalendarIds": [1]}))) == [
        (AddEntry("allowedCalendarIds", 7),)
    ]
    assert list(find_remedies(refusal, standing({"allowedCalendarIds": [7]}))) == []
    assert list(find_remedies(refusal, standing({"allowedCalendarIds": None}))) == []


def meets(bounds, start, end):
    return start < bounds.end and (end > bounds.start or start >= bounds.start)


@given(
    offset=st.integers(-60 * 24, 60 * 24),
    quarters=st.integers(0, 24 * 8),
    past=st.integers(0, 3),
    future=st.integers(0, 3),
)
def test_a_timeframe_is_widened_by_as_many_days_as_it_takes(offset, quarters, past, future):
    start = TODAY + timedelta(hours=offset)
    end = start + timedelta(minutes=15 * quarters)
    settings = {"timeframePastDays": past, "timeframeFutureDays": future}
    if meets(timeframe.allowed_range(Grant.read(settings), NOW), start, end):
        return

    [(part,)] = find_remedies(OutsideTimeframe(start, end), standing(settings))

    assert settings[part.setting] < part.value
    wide = {**settings, part.setting: part.value}
    assert meets(timeframe.allowed_range(Grant.read(wide), NOW), start, end)
    less = {**settings, part.setting: part.value - 1}
    assert not meets(timeframe.allowed_range(Grant.read(less), NOW), start, end)


# -- rules

FILE = Facts(
    item=("d", "i"),
    drive_id="d",
    ancestors=frozenset({("d", "top"), ("d", "f")}),
    site_id="s",
    list_id="l",
    list_item_id="4",
    mime_type="text/plain",
)


def rule(number, kind, pattern, action=RuleAction.BLOCK):
    return Rule(number, kind, pattern, action)


def test_exactly_the_blocking_rules_are_removed_together():
    rules = [
        rule(1, RuleType.FILE_ID, "i"),
        rule(2, RuleType.FILE_ID, "other"),
        rule(3, RuleType.FOLDER, "d:f"),
        rule(4, RuleType.MIME_TYPE, "text/*"),
        rule(5, RuleType.MIME_TYPE, "image/*"),
        rule(6, RuleType.DRIVE_ID, "d", RuleAction.ALLOW),
        rule(7, RuleType.SITE_ID, "elsewhere"),
    ]
    [remedy] = find_remedies(Blocked(1, facts=FILE), standing(rules=rules))
    assert [part.rule.id for part in remedy] == [1, 3, 4]

    left = changes.apply_to_rules(rules, remedy)
    assert RuleSet.compile(left, allow_by_default=True).decide(FILE).allowed
    for part in remedy:
        remaining = changes.apply_to_rules(
            rules, [change for change in remedy if change is not part]
        )
        assert not RuleSet.compile(remaining, allow_by_default=True).decide(FILE).allowed


PATTERNS = {
    RuleType.FILE_ID: ("i", "d:i", "I", "e:i"),
    RuleType.FOLDER: ("f", "d:f", "d:i", "x"),
    RuleType.DRIVE_ID: ("d", "e"),
    RuleType.SITE_ID: ("s", "S", "t"),
    RuleType.LIST_ID: ("l", "m"),
    RuleType.LIST_ITEM_ID: ("4", "l:4", "m:4", "5"),
    RuleType.MIME_TYPE: ("text/plain", "text/*", "*", "image/*"),
    RuleType.SENSITIVITY_LABEL_ID: ("g", "h"),
    RuleType.CONTENT_TYPE_ID: ("0x01", "0X01", "0x02"),
}
blocks = st.sampled_from([(kind, item) for kind, many in PATTERNS.items() for item in many])
lost = st.sets(st.sampled_from(["item", "ancestors", "list_id", "mime_type", "label_ids"]))


@given(patterns=st.lists(blocks, unique=True, max_size=8), lost=lost, labelled=st.booleans())
def test_exactly_the_rules_that_block_alone_are_removed(patterns, lost, labelled):
    rules = [rule(number, *pattern) for number, pattern in enumerate(patterns, 1)]
    facts = replace(FILE, content_type_id="0x01", label_ids=frozenset("g" if labelled else ""))
    facts = replace(facts, **dict.fromkeys(lost, UNKNOWN))
    decided = RuleSet.compile(rules, allow_by_default=True).decide(facts)
    if decided.allowed:
        return

    [remedy] = find_remedies(Blocked(decided.rule_id, facts=facts), standing(rules=rules))

    alone = [
        rule
        for rule in rules
        if not RuleSet.compile([rule], allow_by_default=True).decide(facts).allowed
    ]
    assert [part.rule for part in remedy] == alone


def test_a_rule_on_an_unknown_fact_blocks_too():
    rules = [rule(1, RuleType.SENSITIVITY_LABEL_ID, "g"), rule(2, RuleType.LIST_ID, "m")]
    lost = replace(FILE, label_ids=UNKNOWN)
    assert list(find_remedies(Blocked(1, facts=lost), standing(rules=rules))) == [
        (RemoveRule(rules[0]),)
    ]


@pytest.mark.parametrize(
    ("facts", "action", "first"),
    [
        (FILE, BlockedAction.READ, AddAllowRule(RuleType.FILE_ID, "d:i")),
        (FILE, BlockedAction.LIST_CHILDREN, AddAllowRule(RuleType.FOLDER, "d:i")),
        (FILE, BlockedAction.CREATE_CHILD, AddAllowRule(RuleType.FILE_ID, "d:i")),
        (FILE, BlockedAction.CHANGE_TREE, AddAllowRule(RuleType.FOLDER, "d:i")),
        (
            Facts(item=UNKNOWN, drive_id="d"),
            BlockedAction.LIST_CHILDREN,
            AddAllowRule(RuleType.DRIVE_ID, "d"),
        ),
        (
            Facts(site_id="s", list_id="l", list_item_id="4"),
            BlockedAction.READ,
            AddAllowRule(RuleType.LIST_ITEM_ID, "l:4"),
        ),
        (
            Facts(site_id="s", list_id="l"),
            BlockedAction.CREATE_CHILD,
            AddAllowRule(RuleType.LIST_ID, "l"),
        ),
        (Facts(site_id="s"), BlockedAction.LIST_CHILDREN, AddAllowRule(RuleType.SITE_ID, "s")),
    ],
)
def test_the_narrowest_allow_comes_first(facts, action, first):
    refusal = Blocked(action=action, facts=facts)
    assert find_remedies(refusal, standing())[0] == (first,)


def test_without_a_deciding_rule_none_is_removed():
    rules = [rule(1, RuleType.FOLDER, "d:f")]
    [first, *_] = find_remedies(Blocked(facts=FILE), standing(rules=rules))
    assert first == (AddAllowRule(RuleType.FILE_ID, "d:i"),)


def test_an_item_without_facts_has_no_remedy():
    assert list(find_remedies(Blocked(), standing())) == []


# -- changes


def test_parts_are_applied_in_their_order_to_copies():
    stored = validate({"allowedEmailOperations": ["view_email"], "allowedCalendarIds": None})
    parts = [
        SetValue("emailAccessEnabled", value=True),
        AddEntry("allowedEmailOperations", "send_email"),
        AddEntry("allowedEmailOperations", "delete_email"),
        AddEntry("allowedCalendarIds", 4),
        ExtendLifetime(1_790_000_000_000),
    ]
    assert changes.settings_patch(stored, parts) == {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["view_email", "send_email", "delete_email"],
    }
    assert stored["allowedEmailOperations"] == ["view_email"]
    assert changes.describe(parts[:3]) == (
        "Set emailAccessEnabled to true; add 'send_email' to allowedEmailOperations; "
        "add 'delete_email' to allowedEmailOperations."
    )


def test_changes_are_accepted_by_the_management_api():
    every = [part for _, remedies in SIMPLE for opening in remedies for part in opening]
    settings = {**DEFAULTS, "taskBoards": [], "allowedConnectionIds": []}
    assert (
        validate(changes.settings_patch(settings, every)).items()
        >= changes.settings_patch(settings, every).items()
    )


def test_rules_stay_the_same_object_when_no_part_is_about_them():
    rules = [rule(1, RuleType.FILE_ID, "i")]
    assert changes.apply_to_rules(rules, [SetValue("emailAccessEnabled", value=True)]) is rules
    added = changes.apply_to_rules(
        rules, [RemoveRule(rules[0]), AddAllowRule(RuleType.FOLDER, "f")]
    )
    assert added == [Rule(changes.NEW_RULE_ID, RuleType.FOLDER, "f", RuleAction.ALLOW)]


# -- words


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (None, "The request itself is wrong; no setting of the token is the reason."),
        (
            InvalidInput("limit"),
            "The request itself is wrong; no setting of the token is the reason.",
        ),
        (
            RuntimeError("upstream said secret things"),
            "The provider failed or refused the call; no setting of the token is the reason.",
        ),
        (
            NoUsableConnection(Surface.EMAIL),
            "No connection can be used (1 is active, 2 is needs_reauth): reconnect one, or set it "
            "to active.",
        ),
        (
            ReadOnlyConnection(),
            "No suitable connection may write (1 is active, 2 is needs_reauth): connect one with "
            "write scopes.",
        ),
        (NotFound("…"), "The token's connections see no resource with this id."),
        (
            Unauthenticated(UnauthorizedReason.REVOKED),
            "A revoked token stays revoked: create another one.",
        ),
    ],
)
def test_an_obstacle_is_described_in_a_sentence(problem, words):
    accounts = [Account(1), Account(2, status="needs_reauth"), Account(3, kind="tasks")]
    assert describe_obstacle(problem, accounts, Surface.EMAIL) == words
