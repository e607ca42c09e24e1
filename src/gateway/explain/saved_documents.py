"""Saves and checks documents against the schema and the shapes of tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gateway.documents import checks, prepared
from gateway.explain.subject import Subject
from gateway.operations import tokens
from gateway.operations.documents import collection as documents
from gateway.operations.documents import views
from gateway.operations.documents.collection import NewDocument
from gateway.operations.validation import invalid
from gateway.store import timestamps
from gateway.store.conflicts import retried
from policy.caller import Caller
from policy.refusals import InvalidInput

if TYPE_CHECKING:
    from gateway.services import Services


async def save(services: "Services", name: str, new: NewDocument) -> views.SavedDocument:
    """
    Save a document, or replace the one of this name.

    Raises:
        Refusal: As `operations.documents.put`, or a token that it names cannot use it.
    """
    if not documents.is_name(name):
        raise invalid("name", documents.NAME_RULE)
    operation = documents.prepare(prepared.graph(), new)
    callers = [(token_id, await _caller(services, token_id)) for token_id in new.tokens]
    documents.require_usable(prepared.graph(), operation, callers)

    @retried
    async def store() -> views.SavedDocument:
        async with services.database.writing() as session:
            return await documents.put(session, prepared.graph(), name, new)

    return await store()


async def check(services: "Services", name: str, token_ids: Sequence[int]) -> list[dict[str, Any]]:
    """
    Check a stored document against the schema and tokens: `token` (None: the schema), `problem`.

    Raises:
        NotFound: There is no such document or token.
    """
    async with services.database.reading() as session:
        row = await documents.get(session, name)
    try:
        operation = checks.prepare(prepared.graph(), row.text)
    except InvalidInput as refusal:
        return [{"token": None, "problem": refusal.message}]
    results: list[dict[str, Any]] = [{"token": None, "problem": None}]
    for token_id in token_ids:
        caller = await _caller(services, token_id)
        problem = checks.beyond_shape(prepared.graph(), operation, caller)
        results.append({"token": token_id, "problem": problem})
    return results


async def _caller(services: "Services", token_id: int) -> Caller:
    """Return the caller of a token, whose shape a document is checked against."""
    async with services.database.reading() as session:
        chain = await tokens.with_ancestors(session, token_id)
    return (await Subject.read(chain, services.authenticator, timestamps.now_ms())).caller
