"""
Several mailboxes read as one, and what mail connectors share.

    merged_mailbox   search, read and write over all mailboxes of a caller
    merging          one page out of the mailboxes' answers
    scanning         reading a mailbox page by page until enough messages match
    parameters       parameters of MIME headers, such as names of files
    query_matching   the meaning of every mail filter
    outgoing         new messages, replies and forwards as outgoing messages
    compose          serialization of outgoing messages
    message_parts    the parts of a message that are its text, and its attachments
    original_message parsing of a raw message that is forwarded
    reply_headers    participants and Message-IDs of an original, recipients of a reply
    addresses, dates parsing of address and date headers, addresses as they are written
    header_fields    attributes that are read from headers
    encoded_words    decoding of encoded words in headers
    charsets         decoding of text by its character set
    transfer_encodings  base64 and other encodings of parts
    quoting          bodies and subjects of replies and forwards
    change_previews  what a change of a message changes, for previews
    drafts           drafts of all mailboxes, and changes of raw drafts
    deliver_once     drafts that are sent once, or held once
    delivery         sends whose response is lost
"""
