"""Drive and item ids in the format of upstream, derived from GUIDs."""

from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from uuid import UUID

ROOT_TAIL = "56Y2GOVW7725BZO354PWSELRRZ"  # end of the id of every root folder


def drive_id(collection: UUID, web: UUID, list_guid: UUID) -> str:
    """Return the id of a library."""
    packed = collection.bytes_le + web.bytes_le + list_guid.bytes_le
    return "b!" + urlsafe_b64encode(packed).decode()


def item_id(drive: str, guid: UUID) -> str:
    """Return the id of a file or folder."""
    return f"01{_drive_part(drive)}{b32encode(guid.bytes_le).decode().rstrip('=')}"


def root_id(drive: str) -> str:
    """Return the id of a library's root folder."""
    return f"01{_drive_part(drive)}{ROOT_TAIL}"


def _drive_part(drive: str) -> str:
    return b32encode(sha256(drive.encode()).digest()).decode()[:6]
