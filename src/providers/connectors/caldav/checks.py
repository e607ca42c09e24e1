"""Checks of calendars on an own server."""

import time

from providers.connectors.caldav.account_memory import AccountMemory
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.discovery import ListedCalendar, find_homes, list_calendars
from providers.failures import ProviderFailure
from providers.http.urls import BaseUrl
from providers.ports.checks import Finding, Observation, Outcome, expect
from providers.ports.connection import ConnectionInfo
from providers.ports.opening import Opening


async def check_calendars(opening: Opening) -> list[Finding]:
    """
    Check the calendars of an account; nothing is changed.

    Returns:
        One finding per item, in order; none behind one that failed.
    """
    base = BaseUrl.parse(opening.info.base_url)
    client, memory = DavClient(opening.upstream(), base.origin), AccountMemory()
    began = time.monotonic()
    findings: list[Finding] = []
    item = "credentials"
    try:
        await find_homes(client, base.prefix, memory)
        detail = "The server takes the password, and the account can be read."
        findings.append(_finding(item, (Outcome.AS_EXPECTED, detail), began))
        item, began = "calendars", time.monotonic()
        listed = await list_calendars(client, memory.homes)
        findings.append(_finding(item, _calendars(len(memory.homes), len(listed)), began))
    except ProviderFailure as failure:
        return [*findings, _finding(item, (Outcome.FAILED, failure.message), began)]
    if listed:
        findings.append(_finding("versions", _versions(listed), time.monotonic()))
    findings.append(_finding("addresses", _addresses(opening.info, memory), time.monotonic()))
    return findings


def _calendars(homes: int, calendars: int) -> Observation:
    counted_homes = "One home" if homes == 1 else f"{homes} homes"
    return expect(
        calendars > 0,
        f"{counted_homes} of calendars; calendars for events: {calendars}.",
        f"{counted_homes} of calendars; there is no calendar for events.",
    )


def _versions(listed: list[ListedCalendar]) -> Observation:
    return expect(
        all(entry.state.version for entry in listed),
        "Each calendar has a version: an unchanged one costs one call.",
        "Not every calendar has a version (ctag, sync-token): it is read anew for every request.",
    )


def _addresses(info: ConnectionInfo, memory: AccountMemory) -> Observation:
    if not memory.addresses:
        return Outcome.AS_EXPECTED, "The server names no addresses: accountEmail is the owner's."
    return expect(
        info.account_email.casefold() in memory.addresses,
        "accountEmail is an address of the account.",
        "accountEmail is not an address of the account: invitations that the owner declined may "
        "count as busy.",
    )


def _finding(item: str, observation: Observation, began: float) -> Finding:
    outcome, detail = observation
    latency_ms = round((time.monotonic() - began) * 1000)
    return Finding(item=item, outcome=outcome, detail=detail, latency_ms=latency_ms)
