"""Checks of Gmail and Google Calendar."""

import msgspec

from providers.connectors.provider_a import batch
from providers.connectors.provider_a.account_cache import read_addresses
from providers.failures import Throttled
from providers.ports.checks import Account, ByHand, Check, Observation, Outcome, expect, own_address


class _Named(msgspec.Struct):
    id: str = ""


class _Messages(msgspec.Struct):
    messages: list[_Named] = []


class _Items(msgspec.Struct):
    items: list[_Named] = []


async def _addresses(account: Account) -> Observation:
    return own_address(await read_addresses(account.upstream), account.info)


async def _batch(account: Account) -> Observation:
    """Read one batch of the usual size: 25 messages of 20 quota units."""
    params = (("maxResults", str(batch.MAX_PER_CALL)), ("fields", "messages(id)"))
    response = await account.upstream.call("GET", *batch.MESSAGES, params=params)
    ids = [message.id for message in response.decode(_Messages).messages]
    if not ids:
        return Outcome.DIFFERS, "The mailbox is empty: nothing could be tried."
    try:
        read = await batch.messages(
            account.upstream, ids, (("format", "minimal"), ("fields", "id"))
        )
    except Throttled as failure:
        return Outcome.DIFFERS, f"A batch of {len(ids)} is throttled. {failure.message}"
    return expect(
        len(read) == len(ids),
        f"A batch of messages is read whole (count: {len(ids)}).",
        f"Of {len(ids)} messages in a batch, {len(ids) - len(read)} cannot be read any more.",
    )


async def _calendars(account: Account) -> Observation:
    params = (("fields", "items(id)"), ("maxResults", "250"))
    response = await account.upstream.call(
        "GET", "calendar", "v3", "users", "me", "calendarList", params=params
    )
    count = len(response.decode(_Items).items)
    return expect(count > 0, f"The account lists {count} calendars.", "It lists no calendar.")


MAIL = (
    Check("addresses", _addresses),
    Check("batch", _batch),
    ByHand(
        "send",
        "Send a message to yourself twice with the same Idempotency-Key: it must arrive once.",
    ),
)
CALENDAR = (Check("calendars", _calendars),)
