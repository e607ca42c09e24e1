"""
Drives, folders and files.

    items        JSON representation of files and folders
    content      file bytes (generated or uploaded), MIME types, extracted text
    blobs        uploaded bytes on disk, and their quickXorHash
    listing      endpoints: drives, single items, children, search in a library
    deltas       endpoint: what has changed in a library
    changes      endpoints: create, rename, move, delete; name conflicts and quotas
    transfer     endpoints: upload, download, start of an upload session
    signed_urls  pre-authenticated URLs: downloads and the parts of an upload session
    sharing      endpoints: permissions, invitations, sharing links
"""
