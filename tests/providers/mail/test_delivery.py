"""The time that a send may take, and its Message-ID."""

import time

import pytest

from providers.http.client import deadline
from providers.mail import delivery


def test_a_send_ends_in_time_for_its_look_ups():
    now = time.monotonic()
    with delivery.time_limit():
        ends = deadline.get()
        with delivery.time_for_look_ups():
            assert deadline.get() == ends - delivery.LOOKUP_SECONDS
        assert deadline.get() == ends

    assert now + delivery.SEND_SECONDS <= ends <= time.monotonic() + delivery.SEND_SECONDS
    assert deadline.get() is None


def test_an_earlier_deadline_holds():
    mark = deadline.set(time.monotonic() + 1)
    try:
        ends = deadline.get()
        with delivery.time_limit():
            assert deadline.get() == ends
    finally:
        deadline.reset(mark)


def test_without_a_deadline_look_ups_need_no_time():
    with delivery.time_for_look_ups():
        assert deadline.get() is None


@pytest.mark.parametrize(
    ("local_part", "account", "message_id"),
    [
        ("abc", "me@work.example", "abc@work.example"),
        ("abc@other.example", "me@work.example", "abc@other.example"),
        ("abc", "", "abc@access-gateway.invalid"),
        ("abc", "me@exämple.org", "abc@access-gateway.invalid"),
        ("abc", "me@x>\r\nBcc: eve@evil.example", "abc@evil.example"),
    ],
)
def test_a_message_id_is_in_the_domain_of_the_account(local_part, account, message_id):
    assert delivery.full_message_id(local_part, account) == message_id
