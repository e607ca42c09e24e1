"""The objects of the management API about saved documents."""

from typing import Annotated

from gateway.operations.json_schemas import Moment, View, about, enum_of
from gateway.operations.views import HasMore, NextPageToken, SurfaceWord
from rest_compat.saved.methods import METHODS


class ListedDocument(View):
    """A saved document without its text."""

    name: Annotated[str, about("The name that token settings and commands use.")]
    document_id: Annotated[str, about("SHA-256 of the text, in hexadecimal digits; `documentId`.")]
    method: Annotated[str, about("Of the calls that run it."), enum_of(METHODS)]
    path: Annotated[str, about("Of these calls; variables in braces.")]
    status: Annotated[int, about("The HTTP status of a success.")]
    description: Annotated[str | None, about("For people.")]
    created_at: Annotated[Moment, about("When it was added.")]
    updated_at: Annotated[Moment, about("When it was last changed.")]


class DocumentVariable(View):
    """A variable of a saved document."""

    name: Annotated[str, about("Without the dollar sign.")]
    type: Annotated[str, about("Its GraphQL type.")]
    filled_by: Annotated[
        str,
        about("The part of a call that fills it."),
        enum_of(("path", "query", "header", "body")),
    ]
    required: Annotated[bool, about("Whether a call must fill it.")]


class SavedDocument(ListedDocument):
    """A GraphQL document that a call of REST runs."""

    document: Annotated[str, about("Its text.")]
    root_field: Annotated[
        str | None, about("The root field that it selects; null: it does not fit.")
    ]
    surface: Annotated[SurfaceWord | None, about("The surface of the root field; null: none.")]
    variables: Annotated[list[DocumentVariable], about("Its variables, in order.")]
    problem: Annotated[
        str | None, about("Why it does not fit the schema of this version; null: it does fit.")
    ]


class DocumentPage(View):
    """Saved documents by name."""

    documents: Annotated[list[ListedDocument], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore
