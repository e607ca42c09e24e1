"""
The operator's use cases, shared by the management API and the command line.

Functions take a session or a database and typed inputs, return views, and raise refusals.

    inputs           root models and field types of inputs
    validation       validation errors as sentences
    rows             single rows: read, lock, and the errors for missing ones
    operators        operators
    resources        resources and their operators
    connections      connected accounts
    server_discovery/
                     the mail and calendar servers of an address
    tokens           access tokens
    rules            collab rules of a token
    recipient_rules  to whom a token may write
    documents        saved documents
    approvals        held writes, and the people who release them
    decisions        the audit log: list, follow, verify
    policy_document  the policy file and its checks
    policy_snapshot  the stored policy
    policy_changes   the differences between both
    overviews        what matters in a deployment, and what a change would mean
    policy           export, diff and apply
    token_transfer   tokens moved between deployments by their hashes
    key_rotation     everything encrypted anew under the first secret key
    maintenance      schema versions, backup and restore
    restored_access  tokens and connections that a restore would widen
    views            the objects of the management API
    settings_views   the TokenSettings object
    json_schemas     their root, and the descriptions of their members
"""
