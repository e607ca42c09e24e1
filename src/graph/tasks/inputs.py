"""Inputs of the task mutations."""

import strawberry

from graph.scalars import JSON

_FIELDS = (
    "Column id to the provider's JSON as a text, or to plain text; other JSON values are written "
    "as JSON first. At most 200 entries."
)


@strawberry.input(description="A new item.")
class CreateTaskItemInput:
    name: str = strawberry.field(description="Not blank; at most 1,000 characters.")
    group_id: str | None = strawberry.field(
        default=None, description="The group of the new item; default: the provider's choice."
    )
    fields: JSON | None = strawberry.field(default=None, description=_FIELDS)


@strawberry.input(description="The fields of an item to change.")
class UpdateTaskItemInput:
    fields: JSON = strawberry.field(
        description=f"At least one entry. {_FIELDS} `name` renames the item."
    )


@strawberry.input(description="A comment.")
class AddTaskCommentInput:
    body: str = strawberry.field(description="Plain text, not blank; at most 20,000 characters.")
