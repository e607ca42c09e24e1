"""
Mailboxes by Microsoft Graph: docs/spec/upstream/outlook-mail.md.

    mailbox          the mail port of one account
    filter_query     mail queries as `$filter` or `$search`
    reading          pages of a filter, results of a search, and messages by their ids
    selected_fields  `$select` for the wanted attributes
    mapping          from decoded messages to records
    sending          new messages, replies and forwards
    drafts           drafts that are sent once, or held
    stored_drafts    the drafts of an account
    changes          the history of the mailbox
    followed_folders which folders are followed, and positions in their history
    attachments      an attachment of a message
    attaching        files of new drafts, also by upload sessions
    response_types   structs that responses are decoded into
"""
