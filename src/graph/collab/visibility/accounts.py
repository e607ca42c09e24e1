"""
The accounts that admit a call, each narrowed by its own settings.

A call asks the accounts whose settings admit it. An object is read from the first of them that
sees it, and shown as that account allows: docs/spec/tokens.md#several-accounts-of-one-surface.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, Self, TypeVar, cast

from msgspec.structs import replace

from graph.context import Context
from graph.loaders.content_loaders import ContentLoaders
from graph.masking import masks
from policy.caller import Caller
from policy.refusals import ReadOnlyConnection
from policy.vocabulary import CollabOp, Surface
from providers.content.merged_content import MergedContent
from providers.records.base import Record
from providers.records.collab import UNKNOWN

Read = TypeVar("Read", bound=Record)


def _pass(_: Caller) -> None:
    """Admit every account."""


class AdmittedAccounts:
    """
    Accounts that admit a call.

    Attributes:
        content: What they see.
        loaders: Read what several fields want together; None: everything is read afresh.
    """

    def __init__(
        self, content: MergedContent, caller: Caller, loaders: ContentLoaders | None = None
    ) -> None:
        self.content = content
        self.loaders = loaders
        self._token = caller
        self._alone: dict[int, Self] = {}

    @classmethod
    def open(
        cls, context: Context, *operations: CollabOp, check: Callable[[Caller], object] = _pass
    ) -> Self:
        """
        Return the accounts that allow one of *operations*, and on which *check* passes.

        Raises:
            NoUsableConnection: None may be used.
            Refusal: That of the first account, when all of them refuse.
        """
        return cls.among(context, _admitting(context.caller, operations, check))

    @classmethod
    def open_for_write(
        cls, context: Context, *operations: CollabOp, check: Callable[[Caller], object] = _pass
    ) -> Self:
        """
        Do what `open` does for a change.

        Raises:
            ReadOnlyConnection: None of them may write.
        """
        connections = _admitting(context.caller, operations, check)
        content = context.content
        if context.caller.grant.accounts:
            content = content.among(connections, for_write=True)
        if not content.can_write:
            raise ReadOnlyConnection
        return cls(content, context.caller)

    @classmethod
    def among(cls, context: Context, connections: Collection[int]) -> Self:
        """Return the accounts of some usable connections."""
        loaders: ContentLoaders = context.loaders
        if context.caller.grant.accounts:
            loaders = loaders.among(frozenset(connections))
        return cls(loaders.content, context.caller, None if loaders.single_use else loaders)

    def fresh(self) -> Self:
        """Return the same, which read for themselves what other fields may have read."""
        return type(self)(self.content, self._token)

    @cached_property
    def caller(self) -> Caller:
        """The caller with what all of them allow."""
        return self._token.together([info.id for info in self.content.connections])

    @cached_property
    def differ(self) -> bool:
        """Whether they allow different things."""
        connections = self.content.connections
        return len({self._token.on(info.id).grant for info in connections}) > 1

    def on(self, connection: int | None) -> Self:
        """Return the one alone from which something was read, if they differ."""
        if not self.differ or connection is None:
            return self
        if connection not in self._alone:
            loaders = self.loaders and self.loaders.among(frozenset({connection}))
            content = loaders.content if loaders else self.content.among({connection})
            self._alone[connection] = type(self)(content, self._token, loaders)
        return self._alone[connection]

    def visible(self, kind: str, attributes: AbstractSet[str]) -> frozenset[str]:
        """Return those of *attributes* of a type that all of them let the caller see."""
        if not self._token.grant.accounts:
            return frozenset(attributes)
        return frozenset(attributes) - masks.hidden_attributes(kind, self.caller.grant)

    def shown(self, kind: str, records: Iterable[Read]) -> tuple[Read, ...]:
        """Return *records* of a type without the attributes that one of them hides."""
        if not self._token.grant.accounts:
            return tuple(records)
        hidden = masks.hidden_attributes(kind, self.caller.grant)
        values: dict[str, Any] = dict.fromkeys(hidden - {"parent_folder_id"})
        if "parent_folder_id" in hidden:
            values["parent"] = UNKNOWN
        return tuple(replace(record, **values) for record in records)

    async def each(
        self,
        records: Sequence[Read],
        complete: Callable[[Self, Sequence[Read]], Awaitable[Sequence[Read]]],
    ) -> tuple[Read, ...]:
        """Return *records* as *complete*, which keeps their number, makes them by account."""
        if not self.differ:
            return tuple(await complete(self, records))
        groups: dict[int | None, list[Read]] = {}
        for record in records:
            groups.setdefault(_connection(record), []).append(record)
        completed = {
            connection: iter(await complete(self.on(connection), group))
            for connection, group in groups.items()
        }
        return tuple(next(completed[_connection(record)]) for record in records)


def _admitting(
    caller: Caller, operations: Sequence[CollabOp], check: Callable[[Caller], object]
) -> Collection[int]:
    def admit(account: Caller) -> None:
        account.admit(Surface.COLLAB, *operations)
        check(account)

    return caller.on_each(caller.usable_connections(Surface.COLLAB), admit)


def _connection(record: Record) -> int | None:
    return cast("int | None", cast("Any", record).connection_id)
