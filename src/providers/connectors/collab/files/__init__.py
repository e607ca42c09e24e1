"""
Sites, libraries and files of one connection.

    sites_and_libraries  sites and libraries, and which of them the connection may use
    reading              files and folders: listings, searches, single and batched reads
    labels               sensitivity labels
    writing              folders, renames, moves, deletions, permissions
    uploads              storing files in constant memory
    upload_sessions      the session of one large file, which goes on after failures
"""
