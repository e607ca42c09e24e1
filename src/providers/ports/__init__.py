"""
Ports: one Protocol per surface, which connectors implement and the graph calls.

    connection   description of a connection
    mail, calendar, tasks
                 the port of one account, with its queries, positions and changes
    collab       queries, pages and changes; `CollabConnection`, the only connector, is the port
"""
