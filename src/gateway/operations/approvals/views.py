"""The objects of the management API about approvers and held writes."""

from typing import Annotated, Any

from gateway.operations.json_schemas import Long, Moment, View, about, enum_of
from policy.vocabulary import HeldState


class ListedApprover(View):
    """A person who releases and rejects held writes."""

    id: Annotated[Long, about("Its id.")]
    name: Annotated[str, about("Its name, which the decision log shows.")]
    operator_ids: Annotated[
        list[str], about("The only operators whose writes it decides; empty: all.")
    ]
    resource_ids: Annotated[
        list[Long], about("The only resources whose accounts it decides about; empty: all.")
    ]
    created_at: Annotated[Moment, about("When it was added.")]


class AddedApprover(ListedApprover):
    """A new approver, with its credential."""

    credential: Annotated[str, about("Its credential, shown this once.")]


class ApproverList(View):
    """The approvers."""

    approvers: Annotated[list[ListedApprover], about("All of them, oldest first.")]


class HeldWrite(View):
    """A write that waits for a person, or did so lately."""

    id: Annotated[str, about("Its id.")]
    token_id: Annotated[Long, about("The access token that asked.")]
    token_name: Annotated[str, about("The name of that token.")]
    operator_id: Annotated[str, about("The operator of that token.")]
    operation: Annotated[str, about("The mutation.")]
    connection_id: Annotated[
        Long | None, about("The connection that would write; null if it is not known.")
    ]
    state: Annotated[str, enum_of(HeldState), about("Its state.")]
    reason: Annotated[str | None, about("Why it ended without being done.")]
    decided_by: Annotated[str | None, about("Who released or rejected it.")]
    created_at: Annotated[Moment, about("When it was asked for.")]
    expires_at: Annotated[Moment, about("Until when it can be released.")]
    ended_at: Annotated[Moment | None, about("When it ended; null while it waits or runs.")]


class ShownHeldWrite(HeldWrite):
    """A held write with what it would do."""

    sentences: Annotated[list[str], about("What it would do, in sentences.")]
    effect: Annotated[
        dict[str, Any] | None, about("The effect; null if it can no longer be decrypted.")
    ]
    arguments: Annotated[
        dict[str, Any] | None, about("The arguments of the mutation, long texts shortened.")
    ]


class HeldWritePage(View):
    """A page of held writes."""

    writes: Annotated[list[HeldWrite], about("Newest first.")]
    next_page_token: Annotated[str | None, about("Of the next page; null on the last one.")]
    has_more: Annotated[bool, about("Whether there is a next page.")]


class ListedNotice(View):
    """A URL that is told of new held writes."""

    id: Annotated[str, about("Its id.")]
    url: Annotated[str, about("Where it is told.")]
    operator_id: Annotated[
        str | None, about("The only operator whose writes it is told of; null: all.")
    ]
    state: Annotated[str, about("`active`, or `dead`: it is not called any more.")]
    last_error: Annotated[
        str | None, about("How its last call failed; null if it did not, or none was made.")
    ]
    created_at: Annotated[Moment, about("When it was added.")]


class AddedNotice(ListedNotice):
    """A URL that is told of new held writes, with its new secret."""

    secret: Annotated[str, about("The secret that signs the calls, shown this once.")]


class NoticeList(View):
    """The URLs that are told of new held writes."""

    notices: Annotated[list[ListedNotice], about("All of them, oldest first.")]
