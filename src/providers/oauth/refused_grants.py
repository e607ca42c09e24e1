"""
Meaning of the errors of token endpoints: docs/spec/upstream/oauth.md#why-a-grant-has-ended.

The word in `error` decides whether a person must sign in again (RFC 6749, 5.2). The numbers and
descriptions of vendors, which change, only tell why; and those of passing faults spare a grant.
"""

import re
from collections.abc import Mapping

import msgspec

from providers.catalogue.causes import Cause
from providers.failures import Broken, ClientRefused, NeedsReauth, ProviderFailure, Refused
from providers.http.response import Response

# Errors after which a person must sign in again -> why, as far as the word tells.
_ENDED: Mapping[str, Cause | None] = {
    "invalid_grant": Cause.CONSENT_WITHDRAWN,
    "interaction_required": Cause.SIGN_IN_REQUIRED,
    "consent_required": Cause.CONSENT_WITHDRAWN,
    "login_required": Cause.SIGN_IN_REQUIRED,
    "admin_policy_enforced": Cause.DENIED_BY_POLICY,
    "org_internal": Cause.DENIED_BY_POLICY,
    "access_denied": None,
    "authorization_declined": None,
    "expired_token": None,
}
# Errors of the client: no person can mend them by signing in again.
_CLIENT_REFUSED = frozenset(
    {"invalid_client", "unauthorized_client", "deleted_client", "disabled_client"}
)
_PASSING = frozenset({"temporarily_unavailable", "server_error"})

# Numbers of Microsoft (AADSTS…).
_BY_NUMBER: Mapping[int, Cause] = {
    **dict.fromkeys((65001, 65004), Cause.CONSENT_WITHDRAWN),
    **dict.fromkeys((50089, 700084), Cause.CONSENT_EXPIRED),
    **dict.fromkeys((70008, 700082), Cause.CONSENT_UNUSED),
    **dict.fromkeys((50132, 50133, 50173), Cause.PASSWORD_CHANGED),
    **dict.fromkeys((50055, 50144), Cause.PASSWORD_EXPIRED),
    **dict.fromkeys(
        (50058, 50072, 50074, 50076, 50078, 50079, 50085, 50158, 53004, 70043),
        Cause.SIGN_IN_REQUIRED,
    ),
    **dict.fromkeys((50005, 50097, 50105, 50129, 50131, 500212, 500213), Cause.DENIED_BY_POLICY),
    **dict.fromkeys((53000, 53001, 53002, 53003, 53011, 530034, 530035), Cause.DENIED_BY_POLICY),
    **dict.fromkeys((50020, 50034, 50053, 50057, 51004), Cause.ACCOUNT_BLOCKED),
    **dict.fromkeys((70001, 70002, 700016, 7000215, 7000216), Cause.CLIENT_REFUSED),
    7000222: Cause.CLIENT_SECRET_EXPIRED,
}
# Retryable faults, throttles and loops, and servers in the account's own network that are down.
_PASSING_NUMBERS = frozenset(
    {40010, 50033, 50087, 50088, 50166, 50196, 70012, 80001, 80002, 80005, 80007, 80013, 80014}
    | {90033}
)
_CLIENT = frozenset({Cause.CLIENT_REFUSED, Cause.CLIENT_SECRET_EXPIRED})
# Google's description of `invalid_grant`; it says nothing else that tells causes apart.
_DELETED = re.compile(r"account has been (?:deleted|disabled)", re.IGNORECASE)


class TokenError(msgspec.Struct):
    """An error response (RFC 6749, 5.2), with members of Microsoft and of Google."""

    error: str = ""
    error_codes: tuple[int, ...] = ()
    error_subtype: str = ""
    error_description: str = ""


def read(response: Response) -> TokenError:
    """Return the error in *response*; an empty one for anything else, such as an HTML page."""
    try:
        return response.decode(TokenError)
    except Broken:
        return TokenError()


def failure_of(response: Response) -> ProviderFailure:
    """Return the failure that a response of a token endpoint other than a success stands for."""
    error = read(response)
    if error.error in _PASSING or not _PASSING_NUMBERS.isdisjoint(error.error_codes):
        return Broken(failed=True)
    cause = next((_BY_NUMBER[code] for code in error.error_codes if code in _BY_NUMBER), None)
    if cause in _CLIENT or error.error in _CLIENT_REFUSED:
        is_expired = cause is Cause.CLIENT_SECRET_EXPIRED
        return ClientRefused(ClientRefused.expired_sentence if is_expired else None)
    if error.error not in _ENDED:
        return Refused(status=response.status, word=error.error)
    if error.error_subtype == "invalid_rapt":
        cause = Cause.SIGN_IN_REQUIRED
    elif _DELETED.search(error.error_description[:1000]):
        cause = Cause.ACCOUNT_BLOCKED
    return NeedsReauth(cause=cause or _ENDED[error.error])
