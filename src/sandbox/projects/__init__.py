"""
Asana's projects: a REST API over workspaces, projects, sections, tasks and stories.

    endpoints            the routes, and the handler that checks scopes and runs batches
    context              the context of one call: request, responses, records within reach
    workspaces           endpoints of workspaces, teams and users
    projects             endpoints of projects and sections
    custom_fields        endpoints of custom fields and their settings
    tags                 endpoints of tags
    tasks                endpoints of tasks
    task_bodies          request bodies with the fields of a task
    stories              endpoints of stories: comments and events of tasks
    opt_fields           the parser of requested fields
    rendering            records as JSON: complete, compact, or with requested fields
    views                the fields of each type
    resources            references to records, values and settings of custom fields
    custom_field_values  values of custom fields: computed, displayed and parsed
    rich_text            conversion between plain and rich text
    errors               errors and their response bodies
    store                all records of the account
    records              the types of the records

The API is described in docs/spec/upstream/asana.md.
"""
