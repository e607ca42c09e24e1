"""Many reads in one call: docs/spec/upstream/errors-and-throttling.md#microsoft-graph-batch."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from providers.batches import GONE_STATUSES, BatchReader
from providers.connectors.provider_b.account_cache import PREFER, ROOT
from providers.connectors.provider_b.failures import classify
from providers.connectors.provider_b.outlook_mail.response_types import Message
from providers.http.client import Upstream
from providers.http.response import Response
from providers.odata import MAX_BATCH, call_batch

BATCH_WEIGHT = 4  # upstream runs four parts at a time

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `BatchReader.read`."""
    batch = BatchReader(
        upstream=upstream,
        read_many=lambda ids: _call(upstream, ids, params),
        read_one=lambda name: upstream.call(
            "GET", *ROOT, "messages", name, params=params, headers=PREFER, accept=GONE_STATUSES
        ),
        decode=lambda response: response.decode(Message),
        classify=classify,
        max_size=MAX_BATCH,
    )
    return await batch.read(message_ids)


async def _call(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Response]:
    query = urlencode(params)
    requests = [
        {
            "method": "GET",
            "url": f"/me/messages/{quote(message_id, safe='')}?{query}",
            "headers": PREFER,
        }
        for message_id in message_ids
    ]
    responses = await call_batch(upstream, requests, changes=False, weight=BATCH_WEIGHT)
    return dict(zip(message_ids, responses, strict=True))
