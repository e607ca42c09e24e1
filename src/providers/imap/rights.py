"""Rights in folders that others share with a login (RFC 4314)."""

from providers.imap import parsing
from providers.imap.session import Rejected, Session, astring

# Letter -> what it lets a login do.
MEANINGS = {
    "l": "see the folder",
    "r": "read its messages",
    "s": "mark messages as read",
    "w": "change labels",
    "i": "store messages",
    "p": "post to it",
    "k": "make folders in it",
    "x": "delete the folder",
    "t": "mark messages as deleted",
    "e": "remove deleted messages",
    "a": "change rights",
}
_OLDER = {"c": "kx", "d": "te"}  # RFC 2086, whose servers announce no RIGHTS=


async def read_rights(session: Session, folder: bytes) -> frozenset[str] | None:
    """Return the letters of the rights of the login; None where the server tells none."""
    if "ACL" not in session.capabilities:
        return None
    try:
        reply = await session.command("MYRIGHTS", astring(folder))
    except Rejected:
        return frozenset()
    head = b"* MYRIGHTS "
    for pieces in reply.untagged:
        if pieces[0][: len(head)].upper() == head:
            values = parsing.parse([pieces[0][len(head) :], *pieces[1:]])
            letters = parsing.text(values[-1]) if len(values) > 1 else ""
            if not any(word.startswith("RIGHTS=") for word in session.capabilities):
                letters += "".join(_OLDER.get(letter, "") for letter in letters)
            return frozenset(letters)
    return frozenset()
