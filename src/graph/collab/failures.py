"""The one place where what can come back from the content becomes a refusal of this surface."""

from collections.abc import Awaitable
from typing import TypeVar

from graph.warnings import all_failed_error
from policy.refusals import Conflict, Detail, InvalidInput, NotFound, ReadOnlyConnection
from policy.vocabulary import Code
from providers.failures import Missing
from providers.fanout import AllFailed
from providers.ports.collab import (
    InvalidCursor,
    InvalidDestination,
    InvalidFields,
    InvalidFilter,
    InvalidSearch,
    NotDownloadable,
    ReadOnlyContent,
    UploadTooLarge,
)

Done = TypeVar("Done")


async def translate_failures(asking: Awaitable[Done]) -> Done:
    """
    Wait for an answer.

    Raises:
        Refusal: What the caller asked for cannot be.
        ProviderFailure: Upstream failed.
    """
    try:
        return await asking
    except Missing as missing:
        raise NotFound("There is nothing under this id.") from missing
    except AllFailed as failure:
        raise all_failed_error(failure) from failure
    except (InvalidFilter, InvalidSearch, InvalidDestination) as problem:
        raise InvalidInput(problem.message, code=_CODES[type(problem)]) from problem
    except InvalidFields as problem:
        details = [
            Detail(f"fields.{name}" if name else "fields", why) for name, why in problem.details
        ]
        raise InvalidInput(
            "Some of the fields cannot be written.", code=Code.INVALID_FIELDS, details=details
        ) from problem
    except InvalidCursor as problem:
        raise InvalidInput(
            "The pageToken is not valid for this request.", code=Code.INVALID_PAGE_TOKEN
        ) from problem
    except NotDownloadable as problem:
        raise folder_not_downloadable() from problem
    except ReadOnlyContent as problem:
        raise ReadOnlyConnection from problem
    except UploadTooLarge as problem:
        raise Conflict(
            "The file is larger than 104857600 bytes.", code=Code.PAYLOAD_TOO_LARGE
        ) from problem


def folder_not_downloadable() -> InvalidInput:
    """Refuse to link what has no bytes: a folder."""
    return InvalidInput("A folder cannot be downloaded.", code=Code.INVALID_REQUEST)


_CODES = {
    InvalidFilter: Code.INVALID_FILTER,
    InvalidSearch: Code.INVALID_QUERY,
    InvalidDestination: Code.INVALID_DESTINATION,
}
