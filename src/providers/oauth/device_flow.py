"""The device flow's first step (RFC 8628): a code for us, and one for a person to type in."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec

from providers.http.client import Upstream
from providers.http.origins import Origins


class _Begun(msgspec.Struct):
    device_code: str
    user_code: str
    verification_uri: str
    expires_in: float = 900
    interval: float = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """
    What a device flow began with.

    Attributes:
        lifetime: Seconds until the person is too late.
        interval: Seconds between two questions.
    """

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    lifetime: float
    interval: float


class DeviceEndpoint:
    """One client's door to a device authorization endpoint."""

    def __init__(self, origins: Origins, url: str, *, client_id: str) -> None:
        self._upstream = Upstream(origins, url, connection="device", name="tokens", concurrency=2)
        self._client_id = client_id

    async def begin(self, scopes: tuple[str, ...]) -> DeviceCode:
        """
        Ask for a code.

        Raises:
            ProviderFailure: There is none to be had.
        """
        form = urlencode({"client_id": self._client_id, "scope": " ".join(scopes)})
        answer = await self._upstream.call(
            "POST",
            content=form.encode("ascii"),
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
        begun = answer.decode(_Begun)
        return DeviceCode(
            device_code=begun.device_code,
            user_code=begun.user_code,
            verification_uri=begun.verification_uri,
            lifetime=begun.expires_in,
            interval=begun.interval,
        )
