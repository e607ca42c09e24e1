"""
Own servers behind the demo: Dovecot, Postfix and Radicale, where they are installed.

    servers     all of them, started and ended together
    dovecot     the mailboxes
    postfix     outgoing mail, and delivery into the mailboxes
    radicale    the calendars
    processes   programs, ports and child processes
    contents    the invented company's mail and events, as files of the servers
"""
