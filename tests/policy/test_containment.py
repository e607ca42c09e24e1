"""`widened_settings` against the gates and masks themselves."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.containment import COMPARISONS, widened_settings
from policy.grants import Grant, validate
from policy.settings import DEFAULTS
from policy.vocabulary import CollabOp, EmailField, EmailOp


def test_every_attribute_of_a_grant_is_compared():
    compared = {field.name for field in fields(Grant) if field.compare}

    assert set(COMPARISONS) == compared
    assert {setting for setting, _ in COMPARISONS.values()} == set(DEFAULTS)


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
    return st.sets(st.sampled_from(list(vocabulary))).map(sorted)


grants = st.fixed_dictionaries(
    {
        "emailAccessEnabled": st.booleans(),
        "allowedEmailOperations": words(EmailOp),
        "visibleEmailFields": words(EmailField),
        "allowedCollabOperations": words(CollabOp),
        "allowedConnectionIds": st.none() | st.lists(st.integers(1, 4), unique=True),
    }
).map(lambda settings: Grant.read(validate(settings)))


@given(before=grants, after=grants)
def test_what_is_not_widened_allows_nothing_new(before, after):
    widened = widened_settings(before, after)

    assert ("allowedEmailOperations" in widened) == any(
        op in after.email_operations and op not in before.email_operations for op in EmailOp
    )
    assert ("visibleEmailFields" in widened) == any(
        after.sees(field) and not before.sees(field) for field in EmailField
    )
    assert ("allowedConnectionIds" in widened) == any(
        reaches(after, number) and not reaches(before, number) for number in range(1, 9)
    )
    assert widened_settings(before, before) == []


def reaches(grant, connection):
    return grant.connection_ids is None or connection in grant.connection_ids
