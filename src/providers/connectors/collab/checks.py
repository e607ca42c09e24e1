"""Checks of OneDrive and SharePoint."""

from collections.abc import Sequence

import msgspec

from providers.failures import Broken, Missing, Refused
from providers.microsoft_user import OWN_ADDRESS
from providers.ports.checks import Account, Check, Observation, Outcome, expect
from providers.ports.connection import ConnectionInfo

_ME = ("v1.0", "me")


class _Item(msgspec.Struct):
    id: str = ""
    lastModifiedDateTime: str = ""  # noqa: N815 - as upstream spells it


class _Page(msgspec.Struct):
    value: list[_Item] = []


def _drive(info: ConnectionInfo) -> Sequence[str]:
    sites = info.selected_site_ids
    return ("v1.0", "sites", sites[0], "drive", "root") if sites else (*_ME, "drive", "root")


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


CONTENT = (
    OWN_ADDRESS,
    Check("search", _search),
    Check("expanded-search", _expanded_search),
    Check("order", _order),
)
