"""What `token export` and `token import` do: tokens move by the hashes of their texts."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from sqlmodel import col, or_, select

from gateway.auth import token_format, tokens
from gateway.cli.documents import read
from gateway.cli.stores import opened
from gateway.errors import CommandError
from gateway.management.bodies import Body
from gateway.operations.policy import add_rules, new_token
from gateway.operations.policy_document import TokenEntry, complaints, refuse
from gateway.operations.policy_snapshot import Stock, stock, token_entry
from gateway.store.tables import AccessToken

VERSION = 1


class HashedToken(TokenEntry):
    """A token with the SHA-256 of its text, in hexadecimal."""

    key_id: Annotated[str, StringConstraints(pattern=rf"^[0-9A-Za-z]{{{token_format.KEY_ID}}}$")]
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Hashed(Body):
    """
    What is exported.

    Attributes:
        tokens: As in a policy document, and how each is recognised.
    """

    version: Literal[1]
    tokens: list[HashedToken] = Field(default_factory=list)


async def exported() -> dict[str, Any]:
    """Return the document of the living tokens."""
    async with opened() as (database, _, _settings), database.reading() as session:
        kept = await stock(session)
    kept.telling_apart("token", kept.tokens)
    return {
        "version": VERSION,
        "tokens": [
            {**token_entry(one), "keyId": one.row.key_id, "digest": one.row.digest.hex()}
            for _, one in sorted(kept.tokens.items())
        ],
    }


async def imported(text: str) -> dict[str, Any]:
    """
    Make the tokens of a document whose digests are not there, all or none.

    Returns:
        The names of those `imported` and of those `present`, which stay as they are.
    """
    document = read(Hashed, text)
    refuse(list(complaints(document.tokens)))
    if len({one.digest for one in document.tokens}) < len(document.tokens):
        raise CommandError("Two tokens of the file have the same digest.")
    done: dict[str, list[str]] = {"imported": [], "present": []}
    async with opened() as (database, _, _settings), database.writing() as session:
        kept = await stock(session, to_change=True)
        for entry in document.tokens:
            digest = bytes.fromhex(entry.digest)
            same = select(AccessToken.id).where(
                or_(col(AccessToken.digest) == digest, col(AccessToken.previous_digest) == digest)
            )
            if (await session.exec(same)).first() is not None:
                done["present"].append(entry.name)
                continue
            if entry.name in kept.tokens:
                raise CommandError(f"There is a token {entry.name!r} already, with another text.")
            people, places = _named(kept, entry)
            minted = token_format.GeneratedToken("", digest, entry.key_id)
            new = new_token(entry, people, places)
            token, _ = await tokens.create(session, new, secret=minted)
            add_rules(session, token, entry.keyed_rules)
            done["imported"].append(entry.name)
    return done


def _named(kept: Stock, entry: TokenEntry) -> tuple[dict[str, str], dict[str, int]]:
    """Return the ids of the operator and the resources that *entry* names."""
    kept.telling_apart("operator", [entry.operator])
    kept.telling_apart("resource", entry.resources)
    operator = kept.operators.get(entry.operator)
    if operator is None:
        raise CommandError(
            f"There is no operator {entry.operator!r}; `policy apply` makes operators."
        )
    places = {}
    for name in entry.resources:
        there = kept.resources.get(name)
        if there is None:
            raise CommandError(f"There is no resource {name!r}; `policy apply` makes resources.")
        places[name] = there.row.id or 0
    return {operator.email: operator.id}, places
