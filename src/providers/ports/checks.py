"""A check, its finding, and the run of all checks of an account."""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from providers.dry_run import dry_run
from providers.failures import ProviderFailure
from providers.ports.connection import ConnectionInfo

if TYPE_CHECKING:  # a command that only reads the store needs the words, not the HTTP client
    from providers.http.client import Upstream


class Outcome(StrEnum):
    """
    Outcome of a check.

    Attributes:
        AS_EXPECTED: The account behaves as the connector expects.
        DIFFERS: It behaves otherwise; the detail says what follows.
        FAILED: The call failed.
        BY_HAND: A person must try it, because it is not harmless.
    """

    AS_EXPECTED = "as-expected"
    DIFFERS = "differs"
    FAILED = "failed"
    BY_HAND = "by-hand"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """
    The result of one check.

    Attributes:
        detail: A sentence without content of the account.
        latency_ms: Duration of its calls in milliseconds.
    """

    item: str
    outcome: Outcome
    detail: str
    latency_ms: int = 0


Observation = tuple[Outcome, str]


class Account(msgspec.Struct, frozen=True):
    """The account that is checked."""

    upstream: "Upstream"
    info: ConnectionInfo


class Check(msgspec.Struct, frozen=True):
    """A check: its name, and what reads the account and judges the answer."""

    item: str
    observe: Callable[[Account], Awaitable[Observation]]


class ByHand(msgspec.Struct, frozen=True):
    """A check that changes something: *detail* says what a person does and should see."""

    item: str
    detail: str


def expect(condition: bool, expected: str, otherwise: str) -> Observation:  # noqa: FBT001 - an assertion
    """Return the observation of a condition that should hold."""
    return (Outcome.AS_EXPECTED, expected) if condition else (Outcome.DIFFERS, otherwise)


async def run_checks(checks: Sequence[Check | ByHand], account: Account) -> list[Finding]:
    """Run *checks* one after another; none of them can write. One finding each, in order."""
    return [
        Finding(item=check.item, outcome=Outcome.BY_HAND, detail=check.detail)
        if isinstance(check, ByHand)
        else await _run(check, account)
        for check in checks
    ]


async def _run(check: Check, account: Account) -> Finding:
    began = time.monotonic()
    outcome, detail = Outcome.FAILED, "The check was about to change something."
    with dry_run():
        try:
            outcome, detail = await check.observe(account)
        except ProviderFailure as failure:
            detail = failure.message
    latency_ms = round((time.monotonic() - began) * 1000)
    return Finding(item=check.item, outcome=outcome, detail=detail, latency_ms=latency_ms)


def own_address(addresses: Iterable[str], info: ConnectionInfo) -> Observation:
    """Judge the addresses that the provider names as the account's own."""
    folded = {address.casefold() for address in addresses}
    return expect(
        info.account_email.casefold() in folded,
        f"The account has {len(folded)} addresses, and accountEmail is one of them. A reply to "
        "all leaves all of them out.",
        f"The account has {len(folded)} addresses, and accountEmail is none of them: correct it, "
        "or the owner's next consent is refused.",
    )
