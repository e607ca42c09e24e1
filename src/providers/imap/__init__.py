"""
IMAP4rev1 and SMTP clients (RFC 3501, RFC 6409), for mailboxes on the owners' own servers.

    endpoints   addresses of servers, and how a connection is secured
    accounts    a user and password at a server
    logins      logins as they are stored
    connecting  why a server cannot be reached
    sasl        initial responses of logins by OAuth
    command_texts
                names and strings of commands
    parsing     responses as nested lists, in linear time
    replies     what a connection sends and receives, and failures of commands
    response_reader
                responses as they arrive, within bounds
    refusals    the meaning of refusals, in codes and in words
    folder_names
                usual names of folders, in the languages of servers
    session     one authenticated connection: commands, literals, FETCH rows
    idling      connections that wait until a folder changes
    pool        the sessions of one account
    namespaces  the folders of one mailbox, a person's own or a shared one
    rights      rights in the folders of others
    submission  one message handed to a server for outgoing mail
    submission_replies
                replies of that server, and what they mean
    sequence_sets
                UIDs in the compact form of commands and ESEARCH answers
"""
