"""
Ports: one Protocol per surface, which connectors implement and the graph calls.

    connection   description of a connection
    checks       harmless checks of a connected account, for operators
    opening      the connection, clients and memory with which a connector opens a port
    mail, calendar, tasks
                 the port of one account, with its queries, positions and changes
    drafts       the drafts of one mailbox
    changes      what has changed in one account since a position
    pushes       notifications by which a provider tells that an account has changed
    people       the people that a mail account knows beyond its messages
    collab       queries, pages and changes; `CollabConnection`, the only connector, is the port
"""
