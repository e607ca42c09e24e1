"""Many reads in one call: provider B's JSON batch. Source: wire report, 2.2."""

import asyncio
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from providers.answers import Answer
from providers.failures import Broken, Throttled
from providers.http import Upstream
from providers.provider_b.failures import classify
from providers.provider_b.memory import PREFER, ROOT
from providers.provider_b.message import Message, Part, Parts

PER_CALL = 20  # wire report 2.2
_PAUSE = 0.3  # seconds before what was throttled is asked for once more

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """
    Read messages by their ids; those that are gone are left out.

    Raises:
        Throttled: Some are throttled, also when asked for once more.
        ProviderFailure: The call or one of its parts failed.
    """
    if len(message_ids) == 1:
        return await _singly(upstream, message_ids, params)
    chunks = [message_ids[at : at + PER_CALL] for at in range(0, len(message_ids), PER_CALL)]
    found = await asyncio.gather(*(_chunk(upstream, chunk, params) for chunk in chunks))
    return {name: message for one in found for name, message in one.items()}


async def _chunk(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    parts = await _call(upstream, message_ids, params)
    again = [name for name, part in parts.items() if isinstance(classify(part), Throttled)]
    if again:
        await asyncio.sleep(_PAUSE)
        parts |= await _call(upstream, again, params)
    found: dict[str, Message] = {}
    odd: list[str] = []
    for name, part in parts.items():
        if 200 <= part.status < 300:
            found[name] = part.decode(Message)
        elif isinstance(failure := classify(part), Throttled):
            raise upstream.throttled(failure.retry_after)
        elif part.status not in (404, 410):
            odd.append(name)
    # Whatever else went wrong is asked for alone, where it is retried or raised as usual.
    return found | await _singly(upstream, odd, params)


async def _singly(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    found = {}
    for name in message_ids:
        answer = await upstream.call(
            "GET", *ROOT, "messages", name, params=params, headers=PREFER, accept=(404, 410)
        )
        if answer.status < 300:
            found[name] = answer.decode(Message)
    return found


async def _call(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Answer]:
    query = urlencode(params)
    requests = [
        {
            "id": str(at),
            "method": "GET",
            "url": f"/me/messages/{quote(name, safe='')}?{query}",
            "headers": PREFER,
        }
        for at, name in enumerate(message_ids)
    ]
    answer = await upstream.call(
        "POST",
        "v1.0",
        "$batch",
        json={"requests": requests},
        retry=True,
        changes=False,
    )
    parts = answer.decode(Parts).responses
    places = {part.id: part for part in parts}
    if places.keys() != {one["id"] for one in requests}:
        raise Broken
    return {name: _answer(places[str(at)]) for at, name in enumerate(message_ids)}


def _answer(part: Part) -> Answer:
    headers = {name.lower(): value for name, value in (part.headers or {}).items()}
    return Answer(part.status, headers, bytes(part.body))
