"""`POST /api/access-tokens/{tokenId}/explain`: why a call would be refused."""

from typing import Annotated

from fastapi import Depends

from gateway.explain import views
from gateway.explain.request import ExplainRequest
from gateway.http import client_addresses
from gateway.http.request_services import AppServices
from gateway.management.bodies import body, described
from gateway.management.router import Router, RowId
from gateway.operations import tokens
from gateway.operations.validation import invalid

router = Router(prefix="/api/access-tokens", tags=["Access tokens"])


@router.post("/{token_id}/explain", openapi_extra=described(ExplainRequest))
async def explain_call(
    services: AppServices,
    token_id: RowId,
    request: Annotated[ExplainRequest, Depends(body(ExplainRequest))],
) -> views.Explanation:
    """
    Explain how a call would go with a token, and the smallest change that lets it pass.

    The call is tried by dry runs: upstream is read and never changed, and nothing is charged.
    """
    question = request.question()
    async with services.database.reading() as session:
        chain = await tokens.with_ancestors(session, token_id)
    address = _limited_address(request.address)
    return await services.explainer.explain(chain, question, address=address)


def _limited_address(address: str | None) -> str | None:
    """Return the address or network that rate limits count *address* under."""
    if address is None:
        return None
    bucket = client_addresses.bucket({"client": (address, 0)}, ())
    if bucket == client_addresses.UNKNOWN:
        raise invalid("address", "must be an IP address")
    return bucket
