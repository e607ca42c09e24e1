"""
Refusals of the content API.

See docs/spec/upstream/errors-and-throttling.md#microsoft-graph-errors.
"""

from sandbox.provider_b.responses import GraphError


def not_found(message: str = "The resource could not be found.") -> GraphError:
    """404: the resource does not exist, or no longer."""
    return GraphError(404, "itemNotFound", message)


def access_denied(message: str = "Access denied") -> GraphError:
    """403: the token or its user lacks the permission."""
    return GraphError(403, "accessDenied", message)


def invalid_request(message: str, code: str = "invalidRequest") -> GraphError:
    """400: the request is malformed or unsupported."""
    return GraphError(400, code, message)


def name_taken() -> GraphError:
    """409: another item in the folder has this name."""
    return GraphError(409, "nameAlreadyExists", "Name already exists")


def etag_mismatch() -> GraphError:
    """412: `If-Match` names another version."""
    return GraphError(412, "resourceModified", "ETag does not match current item's value")


def locked() -> GraphError:
    """423: another user has checked the file out."""
    return GraphError(423, "resourceLocked", "The resource you are attempting to access is locked")


def quota_exceeded() -> GraphError:
    """507: the library is full."""
    return GraphError(507, "quotaLimitReached", "Insufficient Space Available")
