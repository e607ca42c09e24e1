"""Composition of the texts that the mailboxes of the sandbox search."""

from cpu_growth import super_linear

from sandbox.mail.normalization import compose


def test_long_rows_of_marks_take_linear_time():
    assert super_linear(compose, lambda size: "\u0315\u0300" * (size // 2)) is None
    assert compose("E\u0301") == "é"
