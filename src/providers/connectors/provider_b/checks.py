"""Checks of Outlook mail and Outlook calendars."""

import msgspec

from providers.calendar.calendar_memory import CalendarMemory
from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.batch import BATCH_WEIGHT
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_calendar.calendars import OutlookCalendars
from providers.failures import TimedOut
from providers.microsoft_user import OWN_ADDRESS
from providers.odata import MAX_BATCH, call_batch
from providers.ports.checks import Account, ByHand, Check, Observation, Outcome, expect

_PAGE = 250  # the largest page that the connectors ask for


class _Item(msgspec.Struct):
    id: str = ""


class _Page(msgspec.Struct):
    value: list[_Item] = []


def _user(account: Account) -> GraphUser:
    return GraphUser.of(account.info, account.upstream)


async def _batch(account: Account) -> Observation:
    """Send one batch of the largest size, of which upstream runs four parts at a time."""
    target = batch.Target(_user(account).messages, (("$top", "1"), ("$select", "id")))
    request = batch.request(target)
    parts = await call_batch(
        account.upstream, [request] * MAX_BATCH, changes=False, weight=BATCH_WEIGHT
    )
    throttled = sum(part.status == 429 for part in parts)
    return expect(
        all(part.status == 200 for part in parts),
        f"A batch of {MAX_BATCH} reads is answered whole.",
        f"Of a batch of {MAX_BATCH} reads {throttled} are throttled, and "
        f"{sum(part.status not in {200, 429} for part in parts)} fail otherwise.",
    )


async def _count(account: Account) -> Observation:
    params = (("$top", "1"), ("$select", "id"), ("$count", "true"))
    try:
        await account.upstream.call(
            "GET", *_user(account).messages, params=params, headers=PREFER, retry=False
        )
    except TimedOut:
        return (
            Outcome.DIFFERS,
            "The mailbox is too large to be counted: totalCount says what is known.",
        )
    return Outcome.AS_EXPECTED, "The messages are counted."


async def _page(account: Account) -> Observation:
    params = (("$top", str(_PAGE)), ("$select", "id"))
    response = await account.upstream.call(
        "GET", *_user(account).messages, params=params, headers=PREFER, retry=False
    )
    return (
        Outcome.AS_EXPECTED,
        f"A page of messages is read (count: {len(response.decode(_Page).value)}).",
    )


async def _calendars(account: Account) -> Observation:
    port = OutlookCalendars(_user(account), CalendarMemory())
    count = len(await port.calendars())
    return expect(count > 0, f"The account lists {count} calendars.", "It lists no calendar.")


_SEND = ByHand(
    "send",
    "Send a message to yourself twice with the same Idempotency-Key: it must arrive once. Reply "
    "to all: you must not be among the recipients.",
)
MAIL = (OWN_ADDRESS, Check("batch", _batch), Check("count", _count), Check("page", _page), _SEND)
CALENDAR = (OWN_ADDRESS, Check("calendars", _calendars))
