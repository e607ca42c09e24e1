"""
Ports: one Protocol per surface, which connectors implement and the graph calls.

    connection   description of a connection
    mail, calendar, tasks, collab
                 the port of one account, with its queries, positions and changes
"""
