"""Pages of the management lists; a page token is encrypted and bound to its list and filters."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
from fastapi import Request, Response
from pydantic import Field, ValidationError

from gateway.management.bodies import inlined
from gateway.operations.inputs import Query, WholeNumberText
from gateway.operations.validation import details, invalid_query
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

if TYPE_CHECKING:
    from gateway.operations import views

MAX_AGE_MS = 24 * 3600 * 1000
MAX_TOKEN = 4096  # characters


class Filters(Query):
    """Root of list queries; each list adds its own filters."""

    limit: Annotated[WholeNumberText, Field(ge=1)] = 50
    page_token: str | None = None


ListQuery = TypeVar("ListQuery", bound=Filters)


def query(model: type[ListQuery]) -> Callable[[Request], Coroutine[Any, Any, ListQuery]]:
    """Make a dependency that reads the query string as *model*; an empty value counts as absent."""

    async def read(request: Request) -> ListQuery:
        try:
            return model.model_validate(_parameters(request))
        except ValidationError as error:
            raise invalid_query(details(error)) from None

    return read


def _parameters(request: Request) -> dict[str, str]:
    """Return the values by name; a repeated name is refused."""
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if not value:
            continue
        if name in parameters:
            raise invalid_query([Detail(name, "is given more than once")])
        if "\0" in value:
            raise invalid_query([Detail(name, "must not have the character U+0000")])
        parameters[name] = value
    return parameters


def described(model: type[Filters]) -> dict[str, Any]:
    """Return the `openapi_extra` with *model* as the query of a list."""
    schema = model.model_json_schema(by_alias=True)
    properties = inlined(schema["properties"], schema.get("$defs", {}))
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": property_schema}
            for name, property_schema in properties.items()
        ]
    }


def known_names(openapi_extra: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the query parameter names in what `described` returned."""
    parameters = (openapi_extra or {}).get("parameters", ())
    return frozenset(parameter["name"] for parameter in parameters)


class Pager:
    """
    One page of a list.

    Attributes:
        limit: The page size; above the maximum it is lowered, and a header says so.
        fetch: The number of rows to read: one more than the page tells whether there is a next one.
        filters: The filters of the list, by their names in Python; None means any.
        after: The position of the last row of the previous page; None on the first page.
    """

    def __init__(
        self, keyring: Keyring, name: str, query: Filters, response: Response, *, most: int = 200
    ) -> None:
        """
        Read where the page starts.

        Raises:
            InvalidInput: `INVALID_PAGE_TOKEN`: damaged, of another list or filter, or too old.
        """
        if query.limit > most:
            response.headers["X-Applied-Limit"] = str(most)
        self.limit = min(query.limit, most)
        self.fetch = self.limit + 1
        self._keyring = keyring
        self.filters = query.model_dump(exclude={"limit", "page_token"})
        bound_to = ["management", name, self.filters]
        self._context = orjson.dumps(bound_to, option=orjson.OPT_SORT_KEYS)
        self.after = None if query.page_token is None else self._position(query.page_token)

    @property
    def after_id(self) -> int:
        """The id of the last row of the previous page; 0 on the first page."""
        return 0 if self.after is None else int(self.after[0])

    def page(
        self,
        rows: Sequence[object],
        position: Callable[[Any], Sequence[object]] = lambda row: (row.id,),
    ) -> "views.Page":
        """Return the paging members; *rows* are up to `fetch`, *position* is where one stands."""
        if len(rows) < self.fetch:
            return {"next_page_token": None, "has_more": False}
        token = self.seal(position(rows[self.limit - 1]))
        return {"next_page_token": token, "has_more": True}

    def seal(self, position: Sequence[object]) -> str:
        """Return the page token of the page behind *position*."""
        payload = orjson.dumps([timestamps.now_ms(), list(position)])
        return self._keyring.seal(payload, context=self._context)

    def _position(self, token: str) -> list[Any]:
        if len(token) > MAX_TOKEN:
            raise _invalid_token()
        try:
            issued_ms, position = orjson.loads(self._keyring.unseal(token, context=self._context))
        except ValueError:
            raise _invalid_token() from None
        if not 0 <= timestamps.now_ms() - issued_ms <= MAX_AGE_MS:
            raise _invalid_token()
        return list(position)


def _invalid_token() -> InvalidInput:
    return InvalidInput(
        "The page token is not one of this list, or it is too old.", code=Code.INVALID_PAGE_TOKEN
    )
