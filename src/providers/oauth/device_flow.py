"""First step of the device flow (RFC 8628): docs/spec/upstream/oauth.md#device-flow."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec

from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.oauth.token_endpoint import MAX_BYTES


class _DeviceResponse(msgspec.Struct):
    device_code: str
    user_code: str
    verification_uri: str
    expires_in: float = 900
    interval: float = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """
    Codes of a device flow: one for us, one for a person to type in.

    Attributes:
        lifetime: Seconds until the codes expire.
        interval: Seconds between two polls of the token endpoint.
    """

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    lifetime: float
    interval: float


class DeviceEndpoint:
    """Client of a device authorization endpoint."""

    def __init__(self, origins: Origins, url: str, *, client_id: str) -> None:
        self._upstream = Upstream(origins, url, connection="device", name="tokens", concurrency=2)
        self._client_id = client_id

    async def begin(self, scopes: tuple[str, ...]) -> DeviceCode:
        """
        Request the codes.

        Raises:
            ProviderFailure: The endpoint did not issue any.
        """
        form = urlencode({"client_id": self._client_id, "scope": " ".join(scopes)})
        response = await self._upstream.call(
            "POST",
            content=form.encode("ascii"),
            headers={"content-type": "application/x-www-form-urlencoded"},
            max_bytes=MAX_BYTES,
        )
        begun = response.decode(_DeviceResponse)
        return DeviceCode(
            device_code=begun.device_code,
            user_code=begun.user_code,
            verification_uri=begun.verification_uri,
            lifetime=begun.expires_in,
            interval=begun.interval,
        )
