"""
Initial responses of logins by OAuth access token: OAUTHBEARER (RFC 7628) and XOAUTH2.

A server that refuses a token sends an error as a challenge first, and its refusal after the
client has answered that.
"""

from base64 import b64encode
from collections.abc import Collection
from typing import NamedTuple

from providers.imap.accounts import Account


class TokenLogin(NamedTuple):
    """
    A login by token.

    Attributes:
        mechanism: Its name.
        response: The initial response in base64.
        after_error: What answers the challenge with the error, in base64; "" for an empty line.
    """

    mechanism: str
    response: str
    after_error: str


def token_login(account: Account, offered: Collection[str]) -> TokenLogin | None:
    """
    Return the login with the account's token; None when the server has no mechanism for it.

    *offered* are mechanisms in capitals. OAUTHBEARER is preferred, because it is the standard.
    """
    user, token, endpoint = account.username, account.password, account.endpoint
    if "OAUTHBEARER" in offered:
        name = user.replace("=", "=3D").replace(",", "=2C")
        server = f"host={endpoint.host}\1port={endpoint.port}"
        response = f"n,a={name},\1{server}\1auth=Bearer {token}\1\1"
        return TokenLogin("OAUTHBEARER", _base64(response), _base64("\1"))
    if "XOAUTH2" in offered:
        return TokenLogin("XOAUTH2", _base64(f"user={user}\1auth=Bearer {token}\1\1"), "")
    return None


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode("ascii")
