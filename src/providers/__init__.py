"""
Data of the outside world: one port per surface, the connectors behind it, and several accounts
read as one.

    ports        what the graph calls: one Protocol per surface, with its queries
    records      what ports return
    ids, collab_ids
                 prefixed ids of callers
    mail, calendar, tasks, content
                 the connections of one caller, merged: this is what resolvers use
    first_holder, fanout
                 calls to several connections: the first that holds an object, or all at once
    connectors   one package per upstream; `registry` opens their ports
    catalogue    what connectors say of themselves, and the tables made of it
    server_discovery
                 search for the mail and calendar servers of an address
    batches, paging, columnar, odata, microsoft_user, timestamps, bounded_map
                 what connectors share
    turns        loops and long work that give the event loop its turn
    search_text  search terms, case folding, visible text of HTML
    readable_text
                 text of mails and files that people and programs read
    web_addresses
                 addresses in texts, the files and task items that they name, host names in A-labels
    item_visibility
                 task columns, and the item fields derived from them
    outcomes     writes whose outcome is unknown
    write_fence  asked before every upstream call that may change something, while a lease holds
    dry_run      requests that stop before their first write
    write_previews
                 what a write is about to do, described before it
    failures     every exception that a port raises
    http, oauth  calls to upstreams, and the credentials that they carry
    imap         sessions with mail servers
"""
