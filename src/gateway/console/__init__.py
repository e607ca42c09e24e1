"""
The operator's console: pages over the operator's use cases (docs/spec/console.md).

A page holds no policy and no data access of its own: what it shows and does are functions of
`gateway.operations`, as the management API and the command line call them.

    sessions   sessions that an admin or an approver begins
    forms      forms, and their token
    pages      pages from the files in `templates`, refusals among them
    charts     bars and their tables
    router     routes of a job, which need a session
    jobs       the routes of the jobs of an operator
    registry   the jobs, in the order of the first page
    routes     the first page, signing in and out
"""
