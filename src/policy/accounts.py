"""Writes that could go to several accounts (docs/spec/tokens.md#ambiguous-accounts)."""

from collections.abc import Sequence

from policy.gates import Connection
from policy.refusals import InvalidInput
from policy.vocabulary import Code


class AmbiguousAccount(InvalidInput):
    """A write could go to several *connections*, and names none."""

    code = Code.AMBIGUOUS_ACCOUNT

    def __init__(self, connections: Sequence[Connection]) -> None:
        accounts = tuple((connection.id, connection.account_email) for connection in connections)
        names = ", ".join(f"{connection} ({account})" for connection, account in accounts[:5])
        more = ", …" if len(accounts) > 5 else ""
        super().__init__(f"Several accounts could be meant, and none is named: {names}{more}.")
        self.accounts = accounts
