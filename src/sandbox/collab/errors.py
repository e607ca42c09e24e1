"""How files, sites and lists word their refusals. Source: wire report 2.2."""

from sandbox.provider_b.responses import Refusal


def not_found(what: str = "The resource could not be found.") -> Refusal:
    """Nothing has this id, or nothing any more."""
    return Refusal(404, "itemNotFound", what)


def access_denied(message: str = "Access denied") -> Refusal:
    """The token, or the user behind it, may not."""
    return Refusal(403, "accessDenied", message)


def invalid_request(message: str, code: str = "invalidRequest") -> Refusal:
    """The request makes no sense."""
    return Refusal(400, code, message)


def name_taken() -> Refusal:
    """There is another item of this name in the folder."""
    return Refusal(409, "nameAlreadyExists", "Name already exists")


def etag_mismatch() -> Refusal:
    """`If-Match` names another version."""
    return Refusal(412, "resourceModified", "ETag does not match current item's value")


def locked() -> Refusal:
    """Somebody else has it checked out."""
    return Refusal(423, "resourceLocked", "The resource you are attempting to access is locked")


def quota_exceeded() -> Refusal:
    """The library has no room."""
    return Refusal(507, "quotaLimitReached", "Insufficient Space Available")
