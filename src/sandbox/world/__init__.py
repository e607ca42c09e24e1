"""
The demo world: the accounts of an invented company. The same day gives the same data.

    people          the people of Harbourlight and everyone they deal with
    accounts        Nora's two accounts on a given day
    chance          deterministic chance
    mail            a year of mail
    calendar        calendars and meetings
    shared_mailbox  mail and calendar of an office that is nobody's own
    collab          sites, libraries, lists and files
    tasks           boards and projects
"""
