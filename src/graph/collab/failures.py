"""Translation of failures of the content ports into refusals of this surface, and into warnings."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from graph import warnings
from graph.context import Context
from policy.refusals import Conflict, Detail, InvalidInput, NotFound, ReadOnlyConnection
from policy.vocabulary import Code, Surface
from providers.failures import Missing
from providers.fanout import AllFailed, ConnectionWarning
from providers.ports import collab

P = ParamSpec("P")
T = TypeVar("T")

_CODES = {
    collab.InvalidFilter: Code.INVALID_FILTER,
    collab.InvalidSearch: Code.INVALID_QUERY,
    collab.InvalidDestination: Code.INVALID_DESTINATION,
}


def translate_failures(call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Decorate a resolver so that failures of the content ports become refusals."""

    @wraps(call)
    async def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await call(*args, **kwargs)
        except Missing as missing:
            raise NotFound("There is no resource with this id.") from missing
        except AllFailed as failure:
            raise warnings.all_failed_error(failure) from failure
        except (collab.InvalidFilter, collab.InvalidSearch, collab.InvalidDestination) as failure:
            raise InvalidInput(failure.message, code=_CODES[type(failure)]) from failure
        except collab.InvalidFields as failure:
            details = [
                Detail(f"fields.{name}" if name else "fields", reason)
                for name, reason in failure.details
            ]
            raise InvalidInput(
                "Some of the fields cannot be written.", code=Code.INVALID_FIELDS, details=details
            ) from failure
        except collab.InvalidCursor as failure:
            raise InvalidInput(
                "The pageToken is not valid for this request.", code=Code.INVALID_PAGE_TOKEN
            ) from failure
        except collab.NotDownloadable as failure:
            raise folder_not_downloadable() from failure
        except collab.ReadOnlyContent as failure:
            raise ReadOnlyConnection from failure
        except collab.UploadTooLarge as failure:
            raise Conflict(
                "The file is larger than 104857600 bytes.", code=Code.PAYLOAD_TOO_LARGE
            ) from failure

    return translated


def folder_not_downloadable() -> InvalidInput:
    """Build the refusal of a download link for a folder."""
    return InvalidInput("A folder cannot be downloaded.", code=Code.INVALID_REQUEST)


def auth_warnings(
    context: Context, failed: Sequence[ConnectionWarning], sentences: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Return the `authWarnings` of failed connections and of a page; None without any."""
    missing = warnings.warnings(context, Surface.COLLAB, failed) or ()
    return tuple(dict.fromkeys((*missing, *sentences))) or None
