"""Who a token of the board provider belongs to: its token answer does not say."""

import msgspec

from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.oauth.credentials import StaticToken


class _Me(msgspec.Struct):
    email: str | None = None


class _Data(msgspec.Struct):
    me: _Me | None = None


class _Answer(msgspec.Struct):
    data: _Data | None = None


async def read_account_email(origins: Origins, url: str, token: str) -> str | None:
    """
    Return the address of the person whose *token* it is.

    Raises:
        ProviderFailure: The provider could not be asked.
    """
    way = Upstream(origins, url, connection="person", credentials=StaticToken(token, ""))
    query = {"query": "query { me { id email } }"}
    answer = await way.call("POST", "v2", json=query, retry=True, changes=False)
    data = answer.decode(_Answer).data
    return None if data is None or data.me is None else data.me.email
