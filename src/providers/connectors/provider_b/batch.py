"""Many reads in one call: provider B's JSON batch. Source: wire report, 2.2."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from providers.batches import GONE, Batch
from providers.connectors.provider_b.failures import classify
from providers.connectors.provider_b.memory import PREFER, ROOT
from providers.connectors.provider_b.outlook_mail.response_types import Message, Part, Parts
from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Answer

PER_CALL = 20  # wire report 2.2

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `Batch.read`."""
    batch = Batch(
        upstream=upstream,
        many=lambda some: _call(upstream, some, params),
        one=lambda name: upstream.call(
            "GET", *ROOT, "messages", name, params=params, headers=PREFER, accept=GONE
        ),
        decode=lambda answer: answer.decode(Message),
        classify=classify,
        most=PER_CALL,
    )
    return await batch.read(message_ids)


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
