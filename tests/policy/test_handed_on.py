"""What a preset hands on of a token is contained in the token (docs/spec/sign-in.md#presets)."""

from random import Random

import pytest

from policy.containment import widened_settings
from policy.grants import Grant, validate
from policy.presets import allows_something, differences, presets_for, settings_within
from policy.vocabulary import (
    CalendarAccessLevel,
    CalendarField,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    TaskField,
    TaskOp,
)

FEW = 100
WORDS = {
    "allowedEmailOperations": EmailOp,
    "visibleEmailFields": EmailField,
    "visibleCalendarFields": CalendarField,
    "allowedTaskOperations": TaskOp,
    "visibleTaskFields": TaskField,
    "allowedCollabOperations": CollabOp,
    "visibleCollabFields": CollabField,
}
VALUES = {
    "emailAccessEnabled": [True, False],
    "calendarAccessEnabled": [True, False],
    "collabAccessEnabled": [True, False],
    "collabAllowAllDefault": [True, False],
    "calendarAccessLevel": [level.value for level in CalendarAccessLevel],
    "timeframePastDays": [None, 0, 1, 30],
    "timeframeFutureDays": [None, 0, 1, 30],
    "allowedCalendarIds": [None, [], [1], [1, 2]],
    "taskBoards": [None, [], [{"boardId": "1", "allowCreate": False}], [{"boardId": "2"}]],
    "writableTaskFields": [["all"], [], ["a"], ["a", "b"]],
    "allowedConnectionIds": [None, [], [1], [1, 2], [2, 3]],
    "recipientRules": [
        None,
        {},
        {"allow": ["@a.example"]},
        {"allow": ["*"], "block": ["x@b.example"]},
    ],
    "sendMode": ["direct", "draft"],
    "writes": ["direct", "effect"],
    "agentTools": ["tools", "graph"],
    "maskMode": ["strict", "basic"],
    "collabSearchTotals": ["visible", "unfiltered"],
    "quota": [{}, {"perMinute": 3}, {"perHour": 5, "perDay": 9}],
    "allowChildren": [True, False],
    "subscriptionsEnabled": [True, False],
    "documents": ["any", "saved", ["inbox"]],
}


def a_token(random):
    """Return random settings of a token."""
    chosen = {name: random.choice(values) for name, values in VALUES.items()}
    for name, words in WORDS.items():
        share = random.random()
        listed = [word.value for word in words if random.random() < share]
        chosen[name] = random.choice([["all"], listed, listed])
    return validate({name: value for name, value in chosen.items() if random.random() < 0.8})


def a_grant(random, ceiling):
    """Return what a random form of the page hands on of a token."""
    named = presets_for(agents=random.random() < 0.5)
    wanted = dict(random.choice(list(named.values())).settings)
    if random.random() < 0.5:
        wanted["allowedConnectionIds"] = [id_ for id_ in (1, 2, 3, 4) if random.random() < 0.5]
    return settings_within(wanted, ceiling)


@pytest.mark.tries(FEW, 5000)
def test_no_grant_allows_more_than_the_token(tries):
    random, some = Random(tries), 0
    for _ in range(tries):
        ceiling = a_token(random)
        handed = a_grant(random, ceiling)
        wider = widened_settings(Grant.read(ceiling), Grant.read(handed))
        # The rules of the token are left to decide, since they hold for the child too.
        assert [name for name in wider if name != "collabAllowAllDefault"] == [], (ceiling, handed)
        assert handed["allowChildren"] is False
        if tries == FEW:
            assert validate(handed)
        some += allows_something(handed)
    assert some > tries / 4


def test_the_difference_is_told_surface_by_surface():
    ceiling = validate(
        {
            "emailAccessEnabled": True,
            "allowedEmailOperations": ["search_emails", "view_email", "delete_email"],
            "calendarAccessEnabled": True,
            "calendarAccessLevel": "view_only",
        }
    )
    handed = settings_within(presets_for(agents=False)["drafts"].settings, ceiling)

    assert handed["allowedEmailOperations"] == ["search_emails", "view_email"]
    assert differences(handed, ceiling) == [
        "Mail: Read-only email access: sending, replying, forwarding, deleting and changing "
        "messages are not allowed. Not allowed on email: view_thread. Mail is put into the Drafts "
        "folder for a person to send.",
        "Mail: your token allows delete_email too, which is not handed on.",
        "Calendars: nothing is handed on.",
    ]


def test_presets_of_agents_take_the_place_of_others_of_their_name():
    plain, agents = presets_for(agents=False), presets_for(agents=True)

    assert set(agents) - set(plain) == {"mailbox-assistant", "supervised"}
    assert "writes" not in plain["full"].settings
    assert agents["full"].settings["writes"] == "effect"
    assert agents["supervised"].settings == {**agents["full"].settings, "writes": "approve"}
