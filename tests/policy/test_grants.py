"""Token settings: validation, merging, and closed values for unreadable ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.grants import Grant, effective_operations, merge, validate
from policy.refusals import InvalidInput
from policy.settings import DEFAULTS, OF_NEW_TOKENS
from policy.vocabulary import (
    CalendarAccessLevel,
    Code,
    CollabOp,
    EmailField,
    EmailOp,
    TaskOp,
    TaskProvider,
)
from providers.catalogue.tables import KINDS


def test_a_new_token_is_useless_until_enabled():
    grant = Grant.read(validate({}))

    assert (grant.email_enabled, grant.calendar_enabled, grant.collab_enabled) == (False,) * 3
    assert grant.email_operations == {
        EmailOp.SEARCH_EMAILS,
        EmailOp.VIEW_EMAIL,
        EmailOp.VIEW_THREAD,
    }
    assert grant.task_operations == frozenset()
    assert grant.collab_allow_all is False
    assert all(grant.sees(field) for field in EmailField)


def test_every_default_is_its_own_stored_form():
    assert validate({}) == {**DEFAULTS, **OF_NEW_TOKENS}
    assert validate({}, {}) == DEFAULTS
    assert list(validate({})) == list(DEFAULTS)


def test_duplicates_are_dropped_and_order_is_kept():
    stored = validate({"allowedEmailOperations": ["send_email", "read_only", "send_email"]})

    assert stored["allowedEmailOperations"] == ["send_email", "read_only"]


def test_composites_are_expanded_for_decisions_and_for_display():
    stored = validate(
        {
            "emailAccessEnabled": True,
            "collabAccessEnabled": True,
            "allowedEmailOperations": ["all"],
            "allowedTaskOperations": ["read_only", "add_comments"],
            "allowedCollabOperations": ["edit_file", "write_list", "write_file"],
        }
    )

    shown = effective_operations(stored)
    assert shown == {
        "effectiveEmailOperations": [op.value for op in EmailOp],
        "effectiveTaskOperations": ["view_boards", "view_items", "view_comments", "add_comments"],
        "effectiveCollabOperations": [
            "upload_file",
            "create_folder",
            "rename_file",
            "move_file",
            "write_list_item",
            "delete_list_item",
        ],
    }
    off = {**stored, "emailAccessEnabled": False, "collabAccessEnabled": False}
    assert effective_operations(off) == {
        "effectiveEmailOperations": [],
        "effectiveTaskOperations": shown["effectiveTaskOperations"],
        "effectiveCollabOperations": [],
    }


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"emailAccesEnabled": True}, "settings.emailAccesEnabled"),
        ({"emailAccessEnabled": "true"}, "settings.emailAccessEnabled"),
        ({"emailAccessEnabled": 1}, "settings.emailAccessEnabled"),
        ({"allowedEmailOperations": ["sned_email"]}, "settings.allowedEmailOperations"),
        ({"allowedEmailOperations": "all"}, "settings.allowedEmailOperations"),
        ({"allowedTaskOperations": ["write_file"]}, "settings.allowedTaskOperations"),
        ({"visibleEmailFields": ["bodyPreview"]}, "settings.visibleEmailFields"),
        ({"calendarAccessLevel": "full"}, "settings.calendarAccessLevel"),
        ({"timeframePastDays": -1}, "settings.timeframePastDays"),
        ({"timeframePastDays": True}, "settings.timeframePastDays"),
        ({"timeframePastDays": 1.5}, "settings.timeframePastDays"),
        ({"allowedCalendarIds": ["1"]}, "settings.allowedCalendarIds"),
        ({"allowedConnectionIds": [2**63]}, "settings.allowedConnectionIds"),
        ({"taskBoards": [{"board": "1"}]}, "settings.taskBoards"),
        ({"taskBoards": [{}]}, "settings.taskBoards"),
        ({"taskBoards": ["1"]}, "settings.taskBoards"),
        ({"maskMode": "loose"}, "settings.maskMode"),
        ({"taskBoards": [{"boardId": "1", "provider": "NOBODY"}]}, "settings.taskBoards"),
        ({"taskBoards": [{"boardId": "1", "provider": "auto"}]}, "settings.taskBoards"),
        ({"quota": {"perSecond": 1}}, "settings.quota"),
        ({"quota": {"perMinute": -1}}, "settings.quota"),
        ({"defaultTaskProvider": " "}, "settings.defaultTaskProvider"),
        ({"defaultTaskProvider": "NOBODY"}, "settings.defaultTaskProvider"),
        ({"defaultTaskProvider": "PROVIDER_A"}, "settings.defaultTaskProvider"),
        ({"defaultTaskProvider": 1}, "settings.defaultTaskProvider"),
    ],
)
def test_invalid_settings_are_refused_by_name(settings, field):
    with pytest.raises(InvalidInput) as refused:
        validate(settings)

    assert refused.value.code is Code.VALIDATION_ERROR
    assert [detail.field for detail in refused.value.details] == [field]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (
            {"taskBoards": [{"boardId": "1"}, {"boardId": "2", "provider": "nobody"}]},
            "provider: It must be one of: BOARDS, PROJECTS.",
        ),
        ({"taskBoards": [{}]}, "boardId: It must be a string of 1 to 255 characters."),
        ({"quota": {"perHour": "1"}}, "perHour: It must be a whole number from 0 to 1000000000."),
    ],
)
def test_a_member_of_a_setting_is_named(settings, why):
    with pytest.raises(InvalidInput) as refused:
        validate(settings)

    assert [detail.message for detail in refused.value.details] == [why]


def test_task_providers_are_case_insensitive_and_stored_in_upper_case():
    stored = validate(
        {
            "defaultTaskProvider": " projects ",
            "taskBoards": [{"boardId": "1", "provider": "Boards"}],
        }
    )

    assert stored["defaultTaskProvider"] == "PROJECTS"
    assert stored["taskBoards"] == [{"boardId": "1", "provider": "BOARDS", "allowCreate": True}]


def test_every_task_provider_is_known_to_settings_connections_and_connectors():
    assert tuple(TaskProvider) == KINDS["tasks"]


def test_all_errors_are_reported_at_once():
    with pytest.raises(InvalidInput) as refused:
        validate({"maskMode": 1, "nope": 1, "emailAccessEnabled": None})

    assert {detail.field for detail in refused.value.details} == {
        "settings.maskMode",
        "settings.nope",
    }


def test_null_resets_a_setting_and_the_others_stay():
    stored = validate({"emailAccessEnabled": True, "timeframePastDays": 30})

    merged = merge(stored, {"timeframePastDays": None, "maskMode": "basic"})

    assert merged == {**DEFAULTS, **OF_NEW_TOKENS, "emailAccessEnabled": True, "maskMode": "basic"}
    old = merge({}, {"maskMode": "basic"})
    assert old["strictParameters"] is False
    assert merge(old, {"strictParameters": None})["strictParameters"] is True


def test_a_stored_value_that_cannot_be_read_grants_nothing():
    grant = Grant.read(dict.fromkeys(DEFAULTS, "?"))

    assert grant.email_enabled is False
    assert grant.email_operations == frozenset()
    assert grant.visible_email_fields == frozenset()
    assert grant.calendar_level is CalendarAccessLevel.FREE_BUSY_ONLY
    assert (grant.past_days, grant.future_days) == (0, 0)
    assert grant.calendar_ids == frozenset()
    assert grant.task_boards == ()
    assert grant.default_task_provider == ""
    assert grant.connection_ids == frozenset()
    assert grant.collab_allow_all is False
    assert grant.quota.per_minute == 0
    assert not grant.sees(EmailField.BODY)


def test_an_empty_list_is_none_at_all_and_null_is_no_restriction():
    none = Grant.read(validate({"allowedCalendarIds": [], "taskBoards": []}))
    free = Grant.read(validate({"allowedCalendarIds": None, "taskBoards": None}))

    assert (none.calendar_ids, none.task_boards) == (frozenset(), ())
    assert (free.calendar_ids, free.task_boards) == (None, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), json_values))
def test_reading_never_fails_and_never_grants_more_than_the_widest(settings):
    grant = Grant.read(settings)

    assert grant.email_operations <= set(EmailOp)
    assert grant.task_operations <= set(TaskOp)
    assert grant.collab_operations <= set(CollabOp)
    assert grant.email_enabled is (settings.get("emailAccessEnabled") is True)


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), json_values))
def test_accepted_settings_are_read_back_unchanged(settings):
    try:
        stored = validate(settings)
    except InvalidInput:
        return

    assert validate(stored) == stored
