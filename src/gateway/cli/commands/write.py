"""
`write`: held writes (docs/spec/held-writes.md); `approver`: people who release and reject them.

A released write is run by a process that serves, as after any other release: this process calls no
provider.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import info, output, report, report_rows
from gateway.cli.options import AsJson, Yes, confirm, option, refuse

if TYPE_CHECKING:
    from sqlmodel.ext.asyncio.session import AsyncSession

    from gateway.cli.stores import Store
    from gateway.operations.approvals.views import AddedNotice, HeldWrite, ShownHeldWrite

app = typer.Typer(help="Writes that wait for a person.", no_args_is_help=True)
approvers = typer.Typer(help="People who release held writes.", no_args_is_help=True)
notices = typer.Typer(help="URLs that are told of new held writes.", no_args_is_help=True)
app.add_typer(notices, name="notice")
Ids = Annotated[list[str], typer.Argument(help="Their ids.")]
NoticeId = Annotated[str, typer.Argument(help="Its id.")]

MAX_LISTED = 200
_COLUMNS = {
    "id": "ID",
    "state": "STATE",
    "operation": "OPERATION",
    "tokenId": "TOKEN",
    "tokenName": "NAME",
    "createdAt": "ASKED",
    "expiresAt": "UNTIL",
}
_NOTICE = {
    "id": "ID",
    "url": "URL",
    "operatorId": "OPERATOR",
    "state": "STATE",
    "lastError": "LAST ERROR",
}
_APPROVER = {"id": "ID", "name": "NAME", "operatorIds": "OPERATORS", "resourceIds": "RESOURCES"}


@app.command("list")
def list_(
    state: Annotated[
        str, option("Those in this state, or all.", "policy.vocabulary:HeldState", "all")
    ] = "held",
    as_json: AsJson = False,
) -> None:
    """List held writes, newest first, 200 at most; without an option those that wait."""
    from gateway.cli.stores import read_store
    from gateway.operations.approvals import decisions
    from gateway.operations.approvals.approvers import ADMIN
    from policy.vocabulary import HeldState

    states = [*HeldState, "all"]
    refuse((state not in states, f"--state must be one of: {', '.join(states)}"))
    wanted = None if state == "all" else state
    rows: list[HeldWrite] = read_store(
        lambda session: decisions.list_newest(session, ADMIN, state=wanted, limit=MAX_LISTED)
    )
    report_rows(rows, _COLUMNS, as_json=as_json)


@app.command("show")
def show(write_id: Annotated[str, typer.Argument(help="Its id.")], as_json: AsJson = False) -> None:
    """Show what a held write would do."""
    shown = _show(write_id)
    report(shown, lambda: _describe(shown, output), as_json=as_json)


@app.command("release")
def release(write_ids: Ids, yes: Yes = False, as_json: AsJson = False) -> None:
    """
    Release held writes, each after it was shown.

    Exactly what was shown is run, once, by a process that serves; or nothing is.
    """
    _decide_each(write_ids, None, releases=True, yes=yes, as_json=as_json)
    if not _serving():
        info("No process serves this database now: they run when one does, unless they expire.")


@app.command("reject")
def reject(
    write_ids: Ids,
    reason: Annotated[str | None, typer.Option(help="Why; the token that asked sees it.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Reject held writes, each after it was shown: nothing of them is done."""
    _decide_each(write_ids, reason, releases=False, yes=yes, as_json=as_json)


def _decide_each(
    write_ids: Sequence[str], reason: str | None, *, releases: bool, yes: bool, as_json: bool
) -> None:
    """Decide about writes one by one; the first refusal ends it, and what was decided stays."""
    decided: list[ShownHeldWrite] = []
    word = "released" if releases else "rejected"
    try:
        for write_id in write_ids:
            if not yes or not as_json:
                _describe(_show(write_id), info)
            confirm("Release it?" if releases else "Reject it?", yes=yes)
            decided.append(_decide(write_id, reason, releases=releases))
            info(f"Write {write_id} is {word}.")
    finally:
        report(decided, lambda: None, as_json=as_json)


def _decide(write_id: str, reason: str | None, *, releases: bool) -> "ShownHeldWrite":
    from gateway.cli.stores import in_store
    from gateway.operations.approvals import decisions
    from gateway.operations.approvals.approvers import ADMIN
    from gateway.operations.validation import validated
    from gateway.store.conflicts import retried

    @retried
    async def decide(store: "Store") -> "ShownHeldWrite":
        why = validated(decisions.Rejection, {"reason": reason}).reason
        async with store.database.writing() as session:
            return await decisions.decide(
                session, store.keyring, ADMIN, write_id, releases=releases, reason=why
            )

    return in_store(decide)


def _show(write_id: str) -> "ShownHeldWrite":
    from gateway.cli.stores import in_store
    from gateway.operations.approvals import decisions
    from gateway.operations.approvals.approvers import ADMIN

    async def read(store: "Store") -> "ShownHeldWrite":
        async with store.database.reading() as session:
            return await decisions.show(session, store.keyring, ADMIN, write_id)

    return in_store(read)


def _serving() -> bool:
    from gateway.cli.stores import in_store
    from gateway.store.serving import serving_processes

    async def read(store: "Store") -> bool:
        return bool(await serving_processes(store.database))

    return in_store(read)


def _describe(shown: "ShownHeldWrite", write_line: Callable[[str], None]) -> None:
    """Write what *shown* would do; others wrote its texts, which must not steer a terminal."""

    def write(line: str) -> None:
        write_line("".join(char if char.isprintable() else "\ufffd" for char in line))

    write(f"{shown.id}: token {shown.token_id} ({shown.token_name}) asks; state {shown.state}.")
    for sentence in (*shown.sentences, *filter(None, [shown.reason])):
        write(f"  {sentence}")
    write("  With the arguments:")
    for line in json.dumps(shown.arguments, ensure_ascii=False, indent=2).splitlines():
        write(f"  {line}")


@notices.command("add")
def add_notice(
    url: Annotated[str, typer.Argument(help="An https URL of a public address.")],
    operator: Annotated[
        str | None, typer.Option(help="The operator whose writes it is told of. Default: all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a URL that is told of new held writes; the secret is written to standard output."""
    from gateway.operations.approvals import notices as operations
    from gateway.operations.validation import validated

    new = validated(operations.NewNotice, {"url": url, "operatorId": operator})
    _report_secret(lambda store, session: operations.add(session, store.keyring, new), as_json)


@notices.command("rotate")
def rotate_notice(notice_id: NoticeId, as_json: AsJson = False) -> None:
    """Give a notice a new secret, which is written to standard output; both sign for a day."""
    from gateway.operations.approvals import notices as operations

    _report_secret(
        lambda store, session: operations.rotate(session, store.keyring, notice_id), as_json
    )


@notices.command("list")
def list_notices(as_json: AsJson = False) -> None:
    """List the URLs that are told of new held writes, oldest first."""
    from gateway.cli.stores import read_store
    from gateway.operations.approvals.notices import list_all

    report_rows(read_store(list_all), _NOTICE, as_json=as_json)


@notices.command("remove")
def remove_notice(notice_id: NoticeId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a URL that is told of new held writes."""
    from gateway.cli.stores import write_store
    from gateway.operations.approvals import notices as operations

    confirm(f"Remove notice {notice_id}?", yes=yes)
    write_store(lambda session: operations.remove(session, notice_id))
    report({"id": notice_id}, f"Notice {notice_id} is removed.", as_json=as_json)


def _report_secret(
    work: "Callable[[Store, AsyncSession], Awaitable[AddedNotice]]", as_json: bool
) -> None:
    from gateway.cli.stores import in_store
    from gateway.store.conflicts import retried

    @retried
    async def write(store: "Store") -> "AddedNotice":
        async with store.database.writing() as session:
            return await work(store, session)

    changed = in_store(write)

    def write_text() -> None:
        output(changed.secret)
        info(f"Calls of notice {changed.id} are signed with it. It is not shown again.")

    report(changed, write_text, as_json=as_json)


@approvers.command("add")
def add_approver(
    name: Annotated[str, typer.Argument(help="Their name, which the decision log shows.")],
    operator: Annotated[
        list[str] | None,
        typer.Option(help="An operator whose writes they decide about; repeatable. Default: all."),
    ] = None,
    resource: Annotated[
        list[int] | None,
        typer.Option(help="A resource whose accounts they decide about; repeatable. Default: all."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a person who releases held writes; the credential is written to standard output."""
    from gateway.cli.stores import write_store
    from gateway.operations.approvals.approvers import NewApprover, add
    from gateway.operations.validation import validated

    members = {"name": name, "operatorIds": operator or [], "resourceIds": resource or []}
    added = write_store(lambda session: add(session, validated(NewApprover, members)))

    def write_text() -> None:
        output(added.credential)
        info(f"Approver {added.id} was added. The credential is not shown again.")

    report(added, write_text, as_json=as_json)


@approvers.command("list")
def list_approvers(as_json: AsJson = False) -> None:
    """List the approvers, oldest first."""
    from gateway.cli.stores import read_store
    from gateway.operations.approvals.approvers import list_all

    report_rows(read_store(list_all), _APPROVER, as_json=as_json)


@approvers.command("remove")
def remove_approver(
    approver_id: Annotated[int, typer.Argument(help="Their id.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove an approver: the credential is refused from now on. What was released stays so."""
    from gateway.cli.stores import write_store
    from gateway.operations.approvals.approvers import remove

    confirm(f"Remove approver {approver_id}?", yes=yes)
    write_store(lambda session: remove(session, approver_id))
    report({"id": approver_id}, f"Approver {approver_id} is removed.", as_json=as_json)
