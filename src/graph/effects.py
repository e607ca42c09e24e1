"""
Effects of writes: what a dry run shows its caller, and what `If-Effect` compares.

Every guarded mutation runs through `run`, so the same resolver, gates and refusals decide. What a
mask hides is left out of the effect; recipients become a count. See docs/spec/dry-run.md.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

import msgspec

from policy import recipients
from policy.accounts import write_mode_on
from policy.caller import Caller
from policy.refusals import EffectChanged, EffectRequired, Refusal
from policy.vocabulary import (
    EMAIL_READS,
    Code,
    CollabField,
    EmailField,
    EmailOp,
    Field,
    Operation,
    Surface,
    TaskField,
    WriteMode,
)
from providers.dry_run import dry_run
from providers.records.mail import Participant
from providers.write_previews import Change, WritePreview, previewing

R = TypeVar("R")

_CONTEXT = b"effect"  # of signatures
# The mask words of the surfaces that have writes.
_FIELDS: Mapping[Surface | None, Iterable[Field]] = MappingProxyType(
    {Surface.EMAIL: EmailField, Surface.TASKS: TaskField, Surface.COLLAB: CollabField}
)
# They write to the gateway alone: what attaches the files waits for a person (writes: approve).
_WITHIN_THE_GATEWAY = frozenset({"uploadEmailAttachment", "deleteUploadedAttachment"})
_OF_DRAFTS = frozenset({"updateDraft", "deleteDraft", "sendDraft"})  # whose effects show them
_json = msgspec.json.Encoder(order="sorted", enc_hook=str)


class Signer(Protocol):
    """Signs digests, so that hidden values cannot be guessed and compared."""

    def sign(self, payload: bytes, *, context: bytes) -> str:
        """Return the signature of *payload*: URL-safe and deterministic."""

    def verify(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        """Return whether `sign` made *signature* for *payload* and *context*."""


class WriteHeld(Refusal):
    """
    The write waits for a person; nothing was written.

    *held* is what the caller learns of it; None: it was only asked whether it would wait.
    """

    code = Code.WRITE_HELD

    def __init__(self, held: Mapping[str, Any] | None = None) -> None:
        super().__init__("Nothing was done so far: the write waits until a person releases it.")
        self.held = held


class ShownWrite(msgspec.Struct, frozen=True, kw_only=True):
    """
    A write as a person is to see it.

    Attributes:
        effect: As a dry run shows it, with the digest for `If-Effect`.
        digest: SHA-256 of the rest of it.
        connection: The id of the connection that would write; None if it is not known.
    """

    operation: "WriteOperation"
    effect: Mapping[str, Any]
    digest: bytes
    connection: int | None


HoldWrite = Callable[[ShownWrite], Awaitable[WriteHeld]]  # stores the write for a person


class EffectRequest(msgspec.Struct, kw_only=True):
    """
    A request whose effect matters.

    Attributes:
        dry_run: Whether the request ends at its first write.
        expected: The digest in `If-Effect`; None: any effect is accepted.
        modes: What the token's accounts may demand of a write; none: nothing is demanded.
        hold: Stores it until then; None: nothing is stored.
        approved: The digest of what a person saw who released the write; None: no person did.
        effect: What the dry run shows; None before it has come to its end.
    """

    dry_run: bool = False
    expected: str | None = None
    modes: AbstractSet[WriteMode] = frozenset()
    hold: HoldWrite | None = None
    approved: bytes | None = None
    effect: Mapping[str, Any] | None = None

    @property
    def stops_before_write(self) -> bool:
        """Whether the request cannot write: a dry run, or one without a digest that it needs."""
        return self.dry_run or (self.modes == {WriteMode.EFFECT} and self.expected is None)


class WriteOperation(msgspec.Struct, frozen=True, kw_only=True):
    """
    A mutation.

    Attributes:
        name: Its field in the schema.
        arguments: By name, without those that are absent or null. Two calls that say different
            things have different effects, also where a mask hides what they would change:
            otherwise equal digests would tell that a guess of a hidden value is right.
        allowed_by: The token's operation that allows it.
    """

    surface: Surface | None
    name: str
    arguments: Mapping[str, Any]
    allowed_by: Operation | None


async def run(  # noqa: PLR0913 - what a mutation runs with
    resolve: Callable[[], Awaitable[R]],
    record_type: type[R],
    operation: WriteOperation,
    *,
    request: EffectRequest,
    caller: Caller,
    signer: Signer,
) -> R:
    """
    Run a mutation dry, or only if it has the expected effect.

    Returns:
        What *resolve* returns. A dry run that came to a write returns a *record_type* with what is
        known before the write.

    Raises:
        EffectChanged: The effect is not the expected one; nothing was written.
        EffectRequired: The same of a token that writes only with the digest of the effect, and
            a call without a digest.
        WriteHeld: The write waits for a person.
    """
    terms = _Terms(operation=operation, request=request, caller=caller, signer=signer)
    waits, result = terms.waits, None
    with previewing(terms.preview):
        try:
            if not terms.stops:
                return await _confirmed(resolve, terms.preview)
            with dry_run():
                result = await _confirmed(resolve, terms.preview)
        except WriteHeld:
            waits = True
    if waits:
        raise await _held(terms.effect(), operation, terms.preview, request.hold)
    if not request.dry_run:
        raise terms.required()
    request.effect = terms.effect()
    return _known_result(record_type, terms.preview) if result is None else result


class _Terms:
    """On which terms a mutation writes."""

    def __init__(
        self, *, operation: WriteOperation, request: EffectRequest, caller: Caller, signer: Signer
    ) -> None:
        self._operation, self._request = operation, request
        self._caller, self._signer = caller, signer
        self.preview = WritePreview(confirm=self._confirm, hidden=_hidden(operation, caller))
        self.waits = (
            request.modes == {WriteMode.APPROVE} and operation.name not in _WITHIN_THE_GATEWAY
        )
        self.stops = request.stops_before_write or self.waits

    def effect(self) -> Mapping[str, Any]:
        payload = _payload(self.preview, self._operation, self._caller)
        digest = self._signer.sign(payload, context=_CONTEXT)
        return {**_shown(self.preview, self._operation, self._caller), "digest": digest}

    def required(self) -> EffectRequired:
        return EffectRequired(msgspec.to_builtins(self.effect(), enc_hook=str))

    def _mode(self) -> WriteMode:
        """Return what the account that is about to write demands."""
        caller, surface = self._caller, self._operation.surface
        if not self._request.modes or surface is None:
            return WriteMode.DIRECT
        written = self.preview.connection
        mode = write_mode_on(caller.token_grant, caller.connections, written, surface)
        within = mode is WriteMode.APPROVE and self._operation.name in _WITHIN_THE_GATEWAY
        return WriteMode.DIRECT if within else mode

    def _confirm(self) -> None:
        request, mode = self._request, self._mode()
        if request.expected is not None:
            payload = _payload(self.preview, self._operation, self._caller)
            if not self._signer.verify(request.expected, payload, context=_CONTEXT):
                raise self.required() if mode is WriteMode.EFFECT else EffectChanged
        elif mode is WriteMode.EFFECT and not self.stops:
            raise self.required()
        if mode is WriteMode.APPROVE and not self.stops:
            raise WriteHeld
        if request.approved is not None and _digest(self.effect()) != request.approved:
            raise EffectChanged  # another mask, or other rules allow it


async def _held(
    effect: Mapping[str, Any],
    operation: WriteOperation,
    preview: WritePreview,
    hold: HoldWrite | None,
) -> WriteHeld:
    """Store a write for a person; return what its caller learns."""
    if hold is None:
        return WriteHeld()
    return await hold(
        ShownWrite(
            operation=operation,
            effect=msgspec.to_builtins(effect, enc_hook=str),
            digest=_digest(effect),
            connection=preview.connection,
        )
    )


def _digest(effect: Mapping[str, Any]) -> bytes:
    """Return the SHA-256 of what a person sees, without the digest, whose key may change."""
    shown = {name: value for name, value in effect.items() if name != "digest"}
    return hashlib.sha256(_json.encode(shown)).digest()


def _hidden(operation: WriteOperation, caller: Caller) -> frozenset[str]:
    """Return the mask words whose fields may not be shown; all, of mail that may not be read."""
    reads = (EmailOp.VIEW_DRAFTS,) if operation.name in _OF_DRAFTS else EMAIL_READS
    return hidden_words(operation.surface, caller, reads)


def hidden_words(
    surface: Surface | None, caller: Caller, reads: Iterable[EmailOp]
) -> frozenset[str]:
    """Return the mask words that *caller* does not see; all, of mail, without one of *reads*."""
    if surface is Surface.EMAIL and not any(map(caller.allows, reads)):
        return frozenset({"is_read", *(word.value for word in EmailField)})
    return frozenset(word.value for word in _FIELDS.get(surface, ()) if caller.hides(word))


async def _confirmed(resolve: Callable[[], Awaitable[R]], preview: WritePreview) -> R:
    """Await the mutation; one that has nothing to write is confirmed at its end."""
    result = await resolve()
    if not preview.confirmed:
        preview.confirm()
    return result


def _known_result(record_type: type[R], preview: WritePreview) -> R:
    known = dict(preview.result)
    if "success" in cast("Any", record_type).__struct_fields__:
        known.setdefault("success", True)
    return record_type(**known)


def _payload(preview: WritePreview, operation: WriteOperation, caller: Caller) -> bytes:
    """Return everything that the effect was derived from, hidden values included."""
    return _json.encode(
        [
            caller.token_id,
            operation.name,
            operation.arguments,
            preview.connection,
            preview.recipients,
            preview.subject,
            preview.attachments,
            preview.target,
            preview.destination,
            preview.changes,
            preview.taken_names,
            preview.basis,
        ]
    )


# -- what the caller sees


def _shown(preview: WritePreview, operation: WriteOperation, caller: Caller) -> dict[str, Any]:
    """Return the effect without its digest; members that do not apply are left out."""
    members = {
        "account": _account(preview, caller),
        "recipients": _recipients(preview),
        "subject": _subject(preview),
        "attachments": _attachments(preview),
        "target": preview.target,
        "destination": preview.destination,
        "changes": [_change(change, preview) for change in preview.changes] or None,
        "takenNames": preview.taken_names or None,
        "allowedBy": _allowed_by(preview, operation, caller),
    }
    return {name: value for name, value in members.items() if value is not None}


def _account(preview: WritePreview, caller: Caller) -> Mapping[str, Any] | None:
    for connection in caller.connections:
        if connection.id == preview.connection:
            return {
                "connectionId": connection.id,
                "provider": connection.provider,
                "email": connection.account_email,
            }
    return None


def _recipients(preview: WritePreview) -> Mapping[str, Any] | None:
    """Show the recipients by header; they are a count when a field behind them is hidden."""
    if preview.recipients is None:
        return None
    people = preview.recipients
    headers = {"to": people.to, "cc": people.cc, "bcc": people.bcc}
    if not preview.hidden.isdisjoint(people.derived_from):
        return {"hidden": sum(map(len, headers.values()))}
    return {name: list(map(_person, members)) for name, members in headers.items() if members}


def _person(person: Participant) -> Mapping[str, Any]:
    return {"email": person.email, "name": person.name}


def _subject(preview: WritePreview) -> str | None:
    subject = preview.subject
    if subject is None or (subject.derived and EmailField.SUBJECT in preview.hidden):
        return None
    return subject.text


def _attachments(preview: WritePreview) -> list[Mapping[str, Any]] | None:
    hidden = EmailField.ATTACHMENTS in preview.hidden
    return [
        {"name": file.name, "size": file.size}
        for file in preview.attachments
        if not (file.derived and hidden)
    ] or None


def _change(change: Change, preview: WritePreview) -> Mapping[str, Any]:
    if change.masked_by in preview.hidden:
        return {"field": change.field, "from": None, "to": None}
    return {"field": change.field, "from": change.before, "to": change.after}


def _allowed_by(
    preview: WritePreview, operation: WriteOperation, caller: Caller
) -> Mapping[str, Any]:
    """Name the operation of the token, and the recipient patterns that the shown people match."""
    allowed: dict[str, Any] = {"operation": operation.allowed_by}
    rules = caller.on(preview.connection).grant.recipients
    shown = _recipients(preview) or {}
    if rules is not None and preview.recipients is not None and "hidden" not in shown:
        people = (person for members in shown.values() for person in members)
        normal = filter(None, (recipients.normalize(person["email"]) for person in people))
        patterns = {pattern for name in normal for pattern in recipients.patterns_of(name)}
        allowed["recipientPatterns"] = sorted(patterns & rules.allow)
    return allowed
