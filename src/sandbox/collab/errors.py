"""How files, sites and lists word their refusals. Source: wire report 2.2."""

from sandbox.provider_b.responses import GraphError


def not_found(what: str = "The resource could not be found.") -> GraphError:
    """Nothing has this id, or nothing any more."""
    return GraphError(404, "itemNotFound", what)


def access_denied(message: str = "Access denied") -> GraphError:
    """The token, or the user behind it, may not."""
    return GraphError(403, "accessDenied", message)


def invalid_request(message: str, code: str = "invalidRequest") -> GraphError:
    """The request makes no sense."""
    return GraphError(400, code, message)


def name_taken() -> GraphError:
    """There is another item of this name in the folder."""
    return GraphError(409, "nameAlreadyExists", "Name already exists")


def etag_mismatch() -> GraphError:
    """`If-Match` names another version."""
    return GraphError(412, "resourceModified", "ETag does not match current item's value")


def locked() -> GraphError:
    """Somebody else has it checked out."""
    return GraphError(423, "resourceLocked", "The resource you are attempting to access is locked")


def quota_exceeded() -> GraphError:
    """The library has no room."""
    return GraphError(507, "quotaLimitReached", "Insufficient Space Available")
