"""Address of a token's owner: monday.com's token response does not contain it."""

import msgspec

from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.oauth.credentials import StaticToken


class _Me(msgspec.Struct):
    id: str | int | None = None
    email: str | None = None


class _Data(msgspec.Struct):
    me: _Me | None = None


class _Response(msgspec.Struct):
    data: _Data | None = None


async def read_account(origins: Origins, url: str, token: str) -> tuple[str | None, str | None]:
    """
    Return the id and the email address of the owner of *token*; None: monday.com does not tell.

    Raises:
        ProviderFailure: The request failed.
    """
    upstream = Upstream(origins, url, connection="person", credentials=StaticToken(token, ""))
    query = {"query": "query { me { id email } }"}
    response = await upstream.call("POST", "v2", json=query, retry=True, changes=False)
    data = response.decode(_Response).data
    me = _Me() if data is None or data.me is None else data.me
    return None if me.id is None else str(me.id), me.email
