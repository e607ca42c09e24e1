"""
Outlook mail by Microsoft Graph.

    routes            endpoints of messages, and all routes of mail
    mailbox           permissions, and lookup of messages and folders
    listing           lists of messages: filter, order, search, pages
    search            parser of ``$search``
    messages          message resources
    content           members that are read from the raw message
    bodies            conversion between HTML and text, previews
    attachments       attachment resources
    folders           mail folders and their ids
    folder_endpoints  endpoints of mail folders
    delta_endpoints   endpoints of delta queries, of messages and of folders
    message_deltas    what has changed in a folder since a change number
    sync_states       states of delta queries
    changes           members that a PATCH sets
    compose           a message before it is written, from JSON or from a draft
    rfc822            writes a composed message as MIME
    replies           replies and forwards as composed messages
    upload_sessions   upload sessions of large attachments
    sending           endpoints that create and send messages
"""
