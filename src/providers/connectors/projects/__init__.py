"""
Connector of Asana, by its REST API: projects are boards, sections groups, tasks items.

    tasks           the task port of one account
    project_list    listing of the account's projects
    matching        filters over tasks, applied to the tasks that were read
    column_types    columns of a project: fields of every task and custom fields
    mapping         `opt_fields`, and from response structs to records
    writing         writes, field by field when they are refused together
    paged_reader    reads listings from a position on
    rest_client     requests for records, pages and listings; writes
    response_types  structs that responses are decoded into
    failures        error responses as provider failures
"""
