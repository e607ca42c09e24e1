"""Pages of the management lists: sealed positions, bound to list and filters. Decisions 0."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
from fastapi import Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gateway.management.bodies import inlined
from gateway.management.validation_messages import details_of
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

if TYPE_CHECKING:
    from gateway.operations import views

MAX_AGE = 24 * 3600 * 1000  # milliseconds; decisions 0
MAX_TOKEN = 4096  # characters

Row = TypeVar("Row")
Position = Sequence[int | str]


def _whole(text: object) -> object:
    if isinstance(text, str) and not text.removeprefix("-").isdecimal():
        raise ValueError("must be a whole number")
    return text


Whole = Annotated[int, BeforeValidator(_whole)]


class Filters(BaseModel):
    """The query of a list; every list adds its own filters. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    limit: Annotated[Whole, Field(ge=1)] = 50
    page_token: str | None = None


Query = TypeVar("Query", bound=Filters)


def query(model: type[Query]) -> Callable[[Request], Coroutine[Any, Any, Query]]:
    """Make a dependency that reads the query string as *model*; an empty value is as none."""

    async def read(request: Request) -> Query:
        try:
            return model.model_validate(_given(request))
        except ValidationError as problem:
            details = details_of(problem.errors(include_url=False, include_input=False))
            raise refused(details) from None

    return read


def _given(request: Request) -> dict[str, str]:
    """Return the values by name; none of two is dropped silently."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if not value:
            continue
        if name in given:
            raise refused([Detail(name, "is given more than once")])
        if "\0" in value:
            raise refused([Detail(name, "must not have the character U+0000")])
        given[name] = value
    return given


def refused(details: Sequence[Detail]) -> InvalidInput:
    """Refuse a query string, one detail per bad or unknown name."""
    first = details[0]
    return InvalidInput(f"{first.field} {first.message}.", details=details)


def described(model: type[Filters]) -> dict[str, Any]:
    """Return the `openapi_extra` that documents *model* as the query of a list."""
    schema = model.model_json_schema(by_alias=True)
    properties = inlined(schema["properties"], schema.get("$defs", {}))
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": one}
            for name, one in properties.items()
        ]
    }


def known_names(openapi_extra: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the query names that `described` told of."""
    parameters = (openapi_extra or {}).get("parameters", ())
    return frozenset(parameter["name"] for parameter in parameters)


@dataclass(frozen=True, slots=True)
class Pager:
    """Pages of one list."""

    keyring: Keyring
    name: str
    most: int

    def limit(self, query: Filters, response: Response) -> int:
        """Return the page size; above the maximum it is lowered, and the answer says so."""
        if query.limit > self.most:
            response.headers["X-Applied-Limit"] = str(self.most)
        return min(query.limit, self.most)

    def after(self, query: Filters) -> Position | None:
        """
        Return where the page starts, None for the first.

        Raises:
            InvalidInput: `INVALID_PAGE_TOKEN`: damaged, of another list or filter, or too old.
        """
        if query.page_token is None:
            return None
        if len(query.page_token) > MAX_TOKEN:
            raise _bad_token()
        try:
            opened = self.keyring.unseal(query.page_token, context=self._context(query))
            issued, position = orjson.loads(opened)
        except ValueError:
            raise _bad_token() from None
        if not 0 <= timestamps.now_ms() - issued <= MAX_AGE:
            raise _bad_token()
        return list(position)

    def page(
        self, query: Filters, rows: Sequence[Row], limit: int, positions: Sequence[Position]
    ) -> "views.Page":
        """
        Return the paging members of an answer.

        Args:
            query: The filters of the list.
            rows: Up to one more than *limit*; the one too many only says that there is more.
            limit: The page size.
            positions: Where each of *rows* stands.
        """
        more = len(rows) > limit
        token = None
        if more:
            payload = orjson.dumps([timestamps.now_ms(), list(positions[limit - 1])])
            token = self.keyring.seal(payload, context=self._context(query))
        return {"nextPageToken": token, "hasMore": more}

    def _context(self, query: Filters) -> bytes:
        filters = query.model_dump(exclude={"limit", "page_token"})
        return orjson.dumps(["management", self.name, filters], option=orjson.OPT_SORT_KEYS)


def _bad_token() -> InvalidInput:
    return InvalidInput(
        "The page token is not one of this list, or it is too old.", code=Code.INVALID_PAGE_TOKEN
    )
