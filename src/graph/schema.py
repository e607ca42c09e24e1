"""
The schema: root fields in the order of the specification, masks applied.

    python -m graph.schema > schema.graphql
"""

import sys
from functools import cache

import strawberry
from graphql import GraphQLSchema
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import create_type

from graph import account, child_tokens, edges, links
from graph.changes import queries as change_queries
from graph.changes import subscriptions as change_subscriptions
from graph.collab import file_mutations as collab_changes
from graph.collab import file_queries as collab_files
from graph.collab import item_mutations as collab_row_changes
from graph.collab import item_queries as collab_list_items
from graph.collab import labels as collab_labels
from graph.collab import permission_mutations as collab_permissions
from graph.collab import search_queries as collab_search
from graph.collab import site_queries as collab_sites
from graph.context import Info
from graph.documents.sdl import print_sdl
from graph.emails import draft_mutations as email_draft_changes
from graph.emails import drafts as email_drafts
from graph.emails import mutations as email_mutations
from graph.emails import queries as email_queries
from graph.emails import uploads as email_uploads
from graph.events import queries as event_queries
from graph.execution import edge_resolvers, fast_resolvers
from graph.file_content import FILE_CONTENT, FileContent
from graph.masking import masks
from graph.people import queries as people_queries
from graph.scalars import SCALARS
from graph.tasks import mutations as task_mutations
from graph.tasks import queries as task_queries

Query = create_type(
    "Query",
    [
        email_queries.emails,
        email_queries.email,
        email_queries.email_attachment,
        email_queries.email_attachment_text,
        email_queries.email_thread,
        email_queries.email_threads,
        email_drafts.drafts,
        email_drafts.draft,
        event_queries.calendar_events,
        event_queries.calendar_event,
        event_queries.event_series,
        event_queries.events_by_contact,
        event_queries.free_busy,
        event_queries.calendars,
        event_queries.calendar,
        task_queries.task_providers,
        task_queries.task_boards,
        task_queries.task_board,
        task_queries.task_items,
        task_queries.task_item,
        collab_files.collab_files,
        collab_files.collab_file,
        collab_files.collab_file_link,
        collab_files.collab_file_text,
        collab_files.collab_file_permissions,
        collab_sites.collab_drives,
        collab_sites.collab_drive,
        collab_sites.collab_sites,
        collab_sites.collab_site,
        collab_sites.collab_lists,
        collab_sites.collab_list,
        collab_list_items.collab_list_items,
        collab_list_items.collab_list_item,
        collab_labels.sensitivity_labels,
        collab_labels.file_sensitivity_label,
        collab_search.collab_search,
        people_queries.people,
        change_queries.changes,
        change_subscriptions.change_subscriptions,
        links.person,
        links.last_contact,
        links.links,
        links.related,
        account.access_token,
        child_tokens.child_tokens,
        account.pending_write,
    ],
    description="Everything that can be read.",
)

Mutation = create_type(
    "Mutation",
    [
        email_mutations.send_email,
        email_mutations.reply_to_email,
        email_mutations.forward_email,
        email_mutations.delete_email,
        email_mutations.modify_email,
        email_draft_changes.create_draft,
        email_draft_changes.update_draft,
        email_draft_changes.delete_draft,
        email_draft_changes.send_draft,
        email_uploads.upload_email_attachment,
        email_uploads.delete_uploaded_attachment,
        task_mutations.create_task_item,
        task_mutations.update_task_item,
        task_mutations.delete_task_item,
        task_mutations.add_task_comment,
        collab_changes.upload_file,
        collab_changes.create_folder,
        collab_changes.rename_file,
        collab_changes.move_file,
        collab_changes.delete_file,
        collab_permissions.share_file,
        collab_permissions.update_file_permission,
        collab_permissions.delete_file_permission,
        collab_row_changes.create_list_item,
        collab_row_changes.update_list_item,
        collab_row_changes.delete_list_item,
        child_tokens.create_child_token,
        child_tokens.revoke_child_token,
        change_subscriptions.create_change_subscription,
        change_subscriptions.rotate_change_subscription,
        change_subscriptions.delete_change_subscription,
    ],
    description="Everything that can be changed; one field per request.",
)


@cache
def build() -> GraphQLSchema:
    """Build the executable schema, once per process."""
    schema = _strawberry_schema()._schema  # noqa: SLF001 - strawberry has no public way to it
    fast_resolvers.apply(schema)
    edge_resolvers.apply(schema)
    masks.apply(schema)
    return schema


def sdl() -> str:
    """Print the schema as SDL, descriptions and directives included."""
    return sdl_of(_strawberry_schema()._schema)  # noqa: SLF001 - as in `build`


def sdl_of(shape: GraphQLSchema) -> str:
    """Print a shape (see `graph.shape`) as SDL, like `sdl`."""
    return print_sdl(shape, _strawberry_schema())


@cache
def _strawberry_schema() -> strawberry.Schema:
    schema = strawberry.Schema(
        Query,
        Mutation,
        config=StrawberryConfig(
            scalar_map={**SCALARS, FileContent: FILE_CONTENT},
            disable_field_suggestions=True,
            info_class=Info,
        ),
    )
    edges.add(schema._schema)  # noqa: SLF001 - as in `build`
    return schema


if __name__ == "__main__":
    sys.stdout.write(sdl())
