"""Moves access tokens between deployments by the SHA-256 of their texts."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from sqlmodel import col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import token_format
from gateway.errors import CommandError
from gateway.operations.inputs import Input
from gateway.operations.policy import create_token
from gateway.operations.policy_document import TokenEntry, require_valid, token_errors
from gateway.operations.policy_snapshot import PolicySnapshot, take_snapshot, token_entry
from gateway.operations.validation import parse_file
from gateway.store.tables import AccessToken

VERSION = 1
_KEY_ID = rf"^[0-9A-Za-z]{{{token_format.KEY_ID_LENGTH}}}$"


class HashedToken(TokenEntry):
    """A token with the SHA-256 of its text, in hexadecimal."""

    key_id: Annotated[str, StringConstraints(pattern=_KEY_ID)]
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class HashedTokens(Input):
    """The file of an export; its tokens are those of a policy document, with their hashes."""

    version: Literal[1]
    tokens: list[HashedToken] = Field(default_factory=list)


async def export_tokens(session: AsyncSession) -> dict[str, Any]:
    """Return the file of the unrevoked tokens."""
    snapshot = await take_snapshot(session)
    snapshot.require_unique("token", snapshot.tokens)
    return {
        "version": VERSION,
        "tokens": [
            {**token_entry(token), "keyId": token.row.key_id, "digest": token.row.digest.hex()}
            for _, token in sorted(snapshot.tokens.items())
        ],
    }


async def import_tokens(session: AsyncSession, text: str) -> dict[str, list[str]]:
    """
    Create the tokens of a file whose digests are not stored yet; all or none.

    Returns:
        The names of those `imported`, and of those already `present`, which stay unchanged.

    Raises:
        CommandError: The text is not JSON, or a name or digest cannot be used.
        InvalidInput: `VALIDATION_ERROR`; each detail names the member.
    """
    file = parse_file(HashedTokens, text)
    require_valid(list(token_errors(file.tokens)))
    if len({entry.digest for entry in file.tokens}) < len(file.tokens):
        raise CommandError("Two tokens of the file have the same digest.")
    report: dict[str, list[str]] = {"imported": [], "present": []}
    snapshot = await take_snapshot(session, for_update=True)
    for entry in file.tokens:
        digest = bytes.fromhex(entry.digest)
        same = select(AccessToken.id).where(
            or_(col(AccessToken.digest) == digest, col(AccessToken.previous_digest) == digest)
        )
        if (await session.exec(same)).first() is not None:
            report["present"].append(entry.name)
            continue
        if entry.name in snapshot.tokens:
            raise CommandError(f"A token {entry.name!r} already exists, with another text.")
        operator_ids, resource_ids = _ids_of(snapshot, entry)
        secret = token_format.GeneratedToken("", digest, entry.key_id)
        await create_token(session, entry, operator_ids, resource_ids, secret=secret)
        report["imported"].append(entry.name)
    return report


def _ids_of(snapshot: PolicySnapshot, entry: TokenEntry) -> tuple[dict[str, str], dict[str, int]]:
    """Return the ids of the operator and of the resources that *entry* names, by name."""
    snapshot.require_unique("operator", [entry.operator])
    snapshot.require_unique("resource", entry.resources)
    operator = snapshot.operators.get(entry.operator)
    if operator is None:
        raise CommandError(
            f"There is no operator {entry.operator!r}; `policy apply` creates operators."
        )
    resource_ids = {}
    for name in entry.resources:
        stored = snapshot.resources.get(name)
        if stored is None:
            raise CommandError(f"There is no resource {name!r}; `policy apply` creates resources.")
        if entry.operator not in stored.operators:
            raise CommandError(
                f"Token {entry.name!r} names resource {name!r}, which {entry.operator} is not "
                "linked to; `policy apply` links operators."
            )
        resource_ids[name] = stored.row.id or 0
    return {operator.email: operator.id}, resource_ids
