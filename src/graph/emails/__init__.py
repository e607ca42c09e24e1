"""
The email surface of the schema.

    queries         root queries
    filters         arguments of `emails` -> a mail query
    page_positions  the positions of all mailboxes in a page token
    mutations       root mutations
    attached_files  attachments of the sending mutations -> checked files
    drafts, draft_mutations  root fields of drafts
    draft_versions  versions of drafts, which tell what has changed
    uploads         root mutations that store and delete a file to attach
    problems        problems of an input
    admission       checks of a call by the accounts that it may be about
    account_drafts  the drafts of an account with settings of its own
    account_mailbox the mailbox of an account with settings of its own
    sending         inputs of the sending mutations -> checked messages
    previews        what a mutation is about to write, for previews
    texts           bodies as readable text
    types           output types
    threads         a conversation as a token may see it
    inputs, enums   input types and closed sets
"""
