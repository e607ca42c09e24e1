"""
Discovery of the mail and calendar servers of an address: docs/spec/server-discovery.md.

    discovery         the search as a whole, within a time limit
    mail_servers      servers for IMAP and for outgoing mail, tried and signed in to
    calendar_servers  CalDAV servers, tried and signed in to
    autoconfig        the configuration file that a domain publishes
    dns_records       SRV records, and addresses of names
    web               requests to servers that are not confirmed yet
    trust             which servers may be called, and get a password
    search            the request, its steps and its result
"""
