"""
The Gmail API, version 1.

    routes           paths, and the checks of every call
    parameters       query parameters of each path
    field_names      member names that ``fields`` may select
    reading          messages, threads, attachments, profile
    history          what has changed since a history id
    watches          notifications of changes
    writing          send, insert, label, trash and delete
    uploads          messages as media, multipart and resumable uploads
    drafts           endpoints of drafts
    label_endpoints  endpoints of labels
    messages         message resources in the four formats
    labels           label ids of a stored message, and back
    paging           page tokens and sizes of lists
    sending          headers and thread of a sent message
    search_query     parser of the query language
    search_terms     one test per search operator
    search_index     indexed words of a message
"""
