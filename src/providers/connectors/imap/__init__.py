"""
Mailboxes on the owners' own servers, by IMAP: docs/spec/upstream/imap.md.

    mailbox          the mail port of one account
    account_memory   memory of an account between requests
    folders          the folders of an account, their roles and their state
    folder_index     UIDs and received times of the messages of one folder
    received_times   what is known of them at a moment
    search_criteria  mail queries as the criteria of SEARCH
    searching        searches over all folders, newest first
    threads          conversations over all folders
    thread_roots     threads of messages that name their parent alone
    attachments      the bytes of attachments
    reading          messages by their locations, and the parts of them that are wanted
    body_structure   the parts of a message
    mapping          from fetched items to records
    modified_utf7    names of folders and labels as the server spells them
    message_ids      opaque ids of messages and threads
    sign_in          the account of one connection, with its credentials
    changing         read state, labels, deletion
    sending          composition of new messages, replies and forwards
    submitting       messages that are submitted once, or held once as drafts
    filing           messages that the gateway puts into folders
    changes          what has changed in the listing
    checks           checks of an account
"""

from providers.catalogue.descriptors import Connector, OwnServer, Service

CONNECTOR = Connector(
    code="IMAP",
    name="Mail server",
    mail_prefix="imap",
    mail_id=r"[A-Za-z0-9+/=_-]{1,512}",
    own_server=OwnServer(
        protocol="IMAP",
        example="imaps://mail.example.org",
        scheme="imap",
        takes_tokens=True,
        submits=True,
    ),
    services=(
        Service(
            kind="email",
            product="own mail server",
            port=f"{__name__}.mailbox:open_port",
            checks=f"{__name__}.checks:check_mailbox",
            shares=True,
        ),
    ),
)
