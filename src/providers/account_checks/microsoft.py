"""Checks of Outlook mail, Outlook calendars, and OneDrive and SharePoint."""

from collections.abc import Sequence

import msgspec

from providers.account_checks.checks import (
    Account,
    ByHand,
    Check,
    Observation,
    Outcome,
    expect,
    own_address,
)
from providers.connectors.provider_b.account_cache import MESSAGES, PREFER, ROOT
from providers.connectors.provider_b.batch import BATCH_WEIGHT
from providers.failures import Broken, Missing, Refused, TimedOut
from providers.microsoft_user import read_addresses
from providers.odata import MAX_BATCH, call_batch
from providers.ports.connection import ConnectionInfo

_PAGE = 250  # the largest page that the connectors ask for


class _Item(msgspec.Struct):
    id: str = ""
    lastModifiedDateTime: str = ""  # noqa: N815 - as upstream spells it


class _Page(msgspec.Struct):
    value: list[_Item] = []


async def _addresses(account: Account) -> Observation:
    if account.info.mode == "selected_sites":
        return Outcome.AS_EXPECTED, "The connection is app-only: it has no owner."
    return own_address(await read_addresses(account.upstream), account.info)


async def _batch(account: Account) -> Observation:
    """Send one batch of the largest size, of which upstream runs four parts at a time."""
    request = {"method": "GET", "url": "/me/messages?$top=1&$select=id", "headers": PREFER}
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
        await account.upstream.call("GET", *MESSAGES, params=params, headers=PREFER, retry=False)
    except TimedOut:
        return (
            Outcome.DIFFERS,
            "The mailbox is too large to be counted: totalCount says what is known.",
        )
    return Outcome.AS_EXPECTED, "The messages are counted."


async def _page(account: Account) -> Observation:
    params = (("$top", str(_PAGE)), ("$select", "id"))
    response = await account.upstream.call(
        "GET", *MESSAGES, params=params, headers=PREFER, retry=False
    )
    return (
        Outcome.AS_EXPECTED,
        f"A page of messages is read (count: {len(response.decode(_Page).value)}).",
    )


async def _calendars(account: Account) -> Observation:
    params = (("$select", "id"), ("$top", "100"))
    response = await account.upstream.call("GET", *ROOT, "calendars", params=params, headers=PREFER)
    count = len(response.decode(_Page).value)
    return expect(count > 0, f"The account lists {count} calendars.", "It lists no calendar.")


def _drive(info: ConnectionInfo) -> Sequence[str]:
    sites = info.selected_site_ids
    return ("v1.0", "sites", sites[0], "drive", "root") if sites else (*ROOT, "drive", "root")


async def _search(account: Account) -> Observation:
    params = (("$select", "id"), ("$top", "5"))
    path = (*_drive(account.info), "search(q='report 05 2026')")
    response = await account.upstream.call("GET", *path, params=params)
    count = len(response.decode(_Page).value)
    return Outcome.AS_EXPECTED, f"A search of the library answers (files: {count})."


async def _expanded_search(account: Account) -> Observation:
    params = (("$select", "id"), ("$top", "1"), ("$expand", "listItem($select=id)"))
    try:
        await account.upstream.call(
            "GET", *_drive(account.info), "search(q='report')", params=params, retry=False
        )
    except (Refused, Missing, Broken):
        return (
            Outcome.AS_EXPECTED,
            "A search does not expand list items; the gateway asks for none.",
        )
    return Outcome.DIFFERS, "A search expands list items; the gateway does without."


async def _order(account: Account) -> Observation:
    params = (("$select", "id,lastModifiedDateTime"), ("$orderby", "lastModifiedDateTime desc"))
    response = await account.upstream.call("GET", *_drive(account.info), "children", params=params)
    times = [item.lastModifiedDateTime for item in response.decode(_Page).value]
    return expect(
        times == sorted(times, reverse=True),
        f"Files come in the order of their changes (count: {len(times)}).",
        "Files do not come in the order that was asked for: the gateway sorts them itself.",
    )


_SEND = ByHand(
    "send",
    "Send a message to yourself twice with the same Idempotency-Key: it must arrive once. Reply "
    "to all: you must not be among the recipients.",
)
MAIL = (
    Check("addresses", _addresses),
    Check("batch", _batch),
    Check("count", _count),
    Check("page", _page),
    _SEND,
)
CALENDAR = (Check("addresses", _addresses), Check("calendars", _calendars))
CONTENT = (
    Check("addresses", _addresses),
    Check("search", _search),
    Check("expanded-search", _expanded_search),
    Check("order", _order),
)
