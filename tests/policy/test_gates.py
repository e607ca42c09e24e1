"""Order and codes of the gates (docs/spec/requests.md#order-of-checks)."""

from dataclasses import dataclass
from itertools import product

import pytest

from policy.caller import Caller
from policy.grants import Grant, validate
from policy.refusals import FieldNotVisible, NoUsableConnection, Refusal
from policy.vocabulary import (
    CalendarField,
    CalendarOp,
    Code,
    CollabOp,
    EmailField,
    EmailOp,
    Surface,
    TaskField,
    TaskOp,
)


@dataclass(frozen=True)
class Line:
    id: int
    kind: str
    status: str = "active"
    provider: str = "PROVIDER_A"
    can_write: bool = True
    account_email: str = "a@x.test"
    reconnect_url: str | None = None


def caller(connections=(), **settings):
    return Caller(
        token_id=1,
        token_name="t",
        key_id="abcdefgh",
        expires_at=None,
        policy_rev=1,
        operator_id="o",
        grant=Grant.read(validate(settings)),
        settings=validate(settings),
        connections=tuple(connections),
    )


def refusal(call):
    with pytest.raises(Refusal) as refused:
        call()
    return refused.value


SWITCHES = {
    Surface.EMAIL: ("emailAccessEnabled", Code.EMAIL_NOT_ENABLED, Code.NO_EMAIL_PROVIDER),
    Surface.CALENDAR: (
        "calendarAccessEnabled",
        Code.CALENDAR_NOT_ENABLED,
        Code.NO_CALENDAR_PROVIDER,
    ),
    Surface.TASKS: (None, None, Code.NO_TASK_PROVIDER),
    Surface.COLLAB: ("collabAccessEnabled", Code.COLLAB_NOT_ENABLED, Code.NO_COLLAB_PROVIDER),
}
LOCKED = {
    Surface.EMAIL: (EmailOp.SEND_EMAIL, {}, Code.OPERATION_NOT_ALLOWED),
    Surface.CALENDAR: (
        CalendarOp.VIEW_EVENTS,
        {"calendarAccessLevel": "free_busy_only"},
        Code.ACCESS_DENIED,
    ),
    Surface.TASKS: (TaskOp.VIEW_BOARDS, {}, Code.OPERATION_NOT_ALLOWED),
    Surface.COLLAB: (CollabOp.UPLOAD_FILE, {}, Code.OPERATION_NOT_ALLOWED),
}


@pytest.mark.parametrize(
    ("surface", "on", "connected"), list(product(Surface, (True, False), (True, False)))
)
def test_the_first_refusing_gate_decides_the_code(surface, on, connected):
    """Switch before connection before flag, on every surface."""
    switch, not_enabled, no_provider = SWITCHES[surface]
    operation, settings, not_allowed = LOCKED[surface]
    lines = [Line(1, surface)] if connected else [Line(1, "other")]
    asking = caller(lines, **settings, **({switch: on} if switch else {}))

    answer = refusal(lambda: asking.admit(surface, operation))

    expected = not_enabled if not on and switch else not_allowed if connected else no_provider
    assert answer.code is expected


def test_a_missing_flag_is_named_with_its_alternatives():
    asking = caller(
        [Line(1, "collab")], collabAccessEnabled=True, allowedCollabOperations=["read_sites"]
    )

    answer = refusal(
        lambda: asking.admit(Surface.COLLAB, CollabOp.LIST_FILES, CollabOp.SEARCH_FILES)
    )

    assert answer.message == "This token does not allow list_files or search_files."
    assert answer.required_operations == ("list_files", "search_files")


def test_one_of_several_alternatives_suffices():
    asking = caller(
        [Line(1, "email")], emailAccessEnabled=True, allowedEmailOperations=["apply_labels"]
    )

    asking.admit(Surface.EMAIL, EmailOp.MARK_AS_READ, EmailOp.APPLY_LABELS)

    assert asking.allows(EmailOp.MARK_AS_READ) is False


@pytest.mark.parametrize("op", list(EmailOp))
def test_each_email_flag_opens_exactly_its_operation(op):
    asking = caller([Line(1, "email")], emailAccessEnabled=True, allowedEmailOperations=[op.value])

    assert [other for other in EmailOp if asking.allows(other)] == [op]


def test_usable_connections_are_active_not_excluded_and_in_id_order():
    lines = [
        Line(1, "email", status="needs_reauth"),
        Line(2, "email"),
        Line(3, "email"),
        Line(4, "calendar"),
        Line(5, "email"),
    ]

    everyone = caller(lines)
    chosen = caller(lines, allowedConnectionIds=[1, 4, 5])

    assert [line.id for line in everyone.usable_connections(Surface.EMAIL)] == [2, 3, 5]
    assert [line.id for line in chosen.usable_connections(Surface.EMAIL)] == [5]


def test_no_usable_connection_is_another_refusal_than_no_connection():
    excluded = caller([Line(1, "email")], emailAccessEnabled=True, allowedConnectionIds=[])

    excluded.admit(Surface.EMAIL, EmailOp.SEARCH_EMAILS)
    with pytest.raises(NoUsableConnection) as refused:
        excluded.usable_connections(Surface.EMAIL)

    assert refused.value.code is Code.NO_PROVIDER


def test_a_revealing_feature_is_refused_with_the_hidden_field():
    asking = caller(visibleEmailFields=["subject"])

    with pytest.raises(FieldNotVisible) as refused:
        asking.require_visible("The filter 'from'", EmailField.FROM)

    assert refused.value.message == (
        "The filter 'from' would reveal a field that this token may not see: 'from'."
    )


def test_basic_mask_mode_allows_revealing_features():
    asking = caller(visibleEmailFields=["subject"], maskMode="basic")

    asking.require_visible("The filter 'from'", EmailField.FROM)

    assert asking.hides(EmailField.FROM)


def test_a_mask_word_shared_by_two_surfaces_hides_only_its_surface():
    asking = caller(visibleCalendarFields=["title"])

    assert asking.hides(CalendarField.LABELS)
    assert not asking.hides(EmailField.LABELS)
    assert not asking.hides(TaskField.LABELS)
