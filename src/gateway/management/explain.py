"""`POST /api/access-tokens/{tokenId}/explain`: why a call would be refused. Decisions 3."""

from typing import Annotated, Any
from urllib.parse import urlencode

import orjson
from fastapi import Depends, Request
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from gateway.explain.explainer import Explainer
from gateway.explain.question import Call, Document, Question
from gateway.http import client_addresses
from gateway.management.auth import Process
from gateway.management.bodies import Body, body, described, invalid
from gateway.management.router import Router
from gateway.management.tokens import known
from gateway.operations import views

router = Router(prefix="/api/access-tokens", tags=["access tokens"])

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PATHS = ("/api/access/", "/internal/api/access/")
MAX_PATH = 8192
Scalar = str | bool | int | float
Query = str | dict[str, Scalar | list[Scalar] | None]


def _one_complaint(value: object, read: ValidatorFunctionWrapHandler) -> Query | None:
    """Say what a query is, not what each of its forms misses."""
    try:
        found: Query | None = read(value)
    except ValidationError:
        raise ValueError("must be a text, or an object of texts, numbers and booleans") from None
    return found


class Asked(Body):
    """A call (`method`, `path`, …), or a document (`document`, `variables`)."""

    method: str | None = None
    path: Annotated[str, Field(max_length=MAX_PATH)] | None = None
    query: Annotated[Query | None, WrapValidator(_one_complaint)] = None
    body: Any = None
    document: str | None = None
    variables: dict[str, Any] = Field(default_factory=dict)
    operation_name: str | None = None
    address: Annotated[str, Field(max_length=64)] | None = None


async def _explainer(request: Request) -> Explainer:
    found: Explainer = request.app.state.services.explainer
    return found


@router.post("/{token_id}/explain", openapi_extra=described(Asked))
async def explain(
    process: Process,
    explainer: Annotated[Explainer, Depends(_explainer)],
    token_id: str,
    asked: Annotated[Asked, Depends(body(Asked))],
) -> views.Explanation:
    """
    Say how a call would go with a token: every layer, and the smallest change that lets it pass.

    The call is rehearsed: upstream is read and never changed, and nothing is charged.
    """
    question = questioned(asked)
    async with process.database.reading() as session:
        token = await known(session, token_id)
    return await explainer.explain(token, question, address=_address(asked.address))


def questioned(asked: Asked) -> Question:
    """
    Read what is asked about.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: it is neither a call nor a document, or both.
    """
    call = asked.method is not None or asked.path is not None
    if call == (asked.document is not None):
        raise invalid("$", "must have either method and path, or a document")
    if asked.document is not None:
        return Document(
            text=asked.document, variables=asked.variables, operation=asked.operation_name
        )
    if asked.method is None or asked.method.upper() not in METHODS:
        raise invalid("method", f"must be one of {', '.join(METHODS)}")
    path, _, behind = (asked.path or "").partition("?")
    if not path.startswith(PATHS) or not path.isascii():
        raise invalid("path", f"must be percent-encoded and start with {PATHS[0]}")
    return Call(
        method=asked.method.upper(),
        path=path,
        query="&".join(filter(None, (behind, _query(asked.query)))),
        body=b"" if asked.body is None else orjson.dumps(asked.body),
    )


def _address(given: str | None) -> str | None:
    """Return what an address is counted under."""
    if given is None:
        return None
    found = client_addresses.bucket({"client": (given, 0)}, ())
    if found == client_addresses.UNKNOWN:
        raise invalid("address", "must be an IP address")
    return found


def _query(given: Query | None) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    pairs = [
        (name, _text(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]
    return urlencode(pairs)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
