"""Checks of a monday.com account."""

import msgspec

from providers.ports.checks import Account, ByHand, Check, Observation, expect


class _Boards(msgspec.Struct):
    boards: list[dict[str, object]] = []


class _Answer(msgspec.Struct):
    data: _Boards | None = None


async def _boards(account: Account) -> Observation:
    response = await account.upstream.call(
        "POST", "v2", json={"query": "query { boards(limit: 5) { id } }"}, changes=False
    )
    data = response.decode(_Answer).data
    return expect(
        data is not None and bool(data.boards),
        "The account lists boards.",
        "The account lists no board: the token may lack boards:read, or there are none.",
    )


TASKS = (
    Check("boards", _boards),
    ByHand("quota", "Read the daily call limit of the account's plan, and plan clients for it."),
)
