"""
The mail of the demo world: a year of mail in each of Nora's two mailboxes.

    mailboxes             writes both mailboxes into a mail store
    conversations         conversations as mail: times, subjects, references
    conversation_scripts  parser of the conversations in `texts`
    recurring_messages    week plans, warnings, nightly reports, invitations
    newsletters           newsletters
    invoices              invoices and bank statements
    remaining_messages    self-sent mail, drafts, trash, spam, and all edge cases
    edge_case_headers     mail with missing, repeated or malformed headers
    edge_case_bodies      mail with unusual bodies, nesting and attachments
    edge_case_charsets    mail with rare, unknown or wrong charsets
    deliveries            received time, folder and read state of a mail
    composer              a mail as its sender's mail program would write it
    mime_writer           MIME parts and headers as bytes
    attachment_files      small PDF, PNG, CSV and calendar files
    texts                 the prose, in text files
"""
