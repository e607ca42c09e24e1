"""Failures as values: they hold no frames, whatever caused them."""

from providers.failures import Refused, Unreachable, without_frames


def test_a_failure_that_is_its_own_cause_is_freed_of_its_frames():
    own, first, second = Refused(), Unreachable(), Unreachable()
    own.__cause__ = own
    first.__cause__, second.__cause__ = second, first
    second.__context__ = own

    assert without_frames(own) is own
    assert without_frames(first) is first
    assert second.__context__ is None
