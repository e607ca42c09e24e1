"""
Mailboxes by the Gmail API: docs/spec/upstream/gmail.md.

    mailbox           the mail port of one account
    search_query      mail queries in Gmail's search language
    reading           pages of a search, and messages by their ids
    requested_fields  field masks for the wanted attributes
    mapping           from decoded messages to records
    attachments       the bytes of attachments
    changes           the history of the account
    pushes            notifications that it has changed
    labels            the labels of an account
    sending           new messages, replies and forwards
    drafts            drafts that are sent once, or held
    stored_drafts     the drafts of an account
    draft_uploads     uploads of large messages
    response_types    structs that responses are decoded into
"""
