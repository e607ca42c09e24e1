"""
The queries of the authentication, on both databases, and the positions of their columns.

`BY_DIGEST` returns all that a caller depends on (docs/adr/0035-one-read-per-request.md): one row
for each connection of the token, then of its parent, and so on; without a connection, one row.
"""

from gateway.secrets import keyring
from policy.caller import MAX_ANCESTORS

# Lists are read as text, because one of the drivers would decode JSON, and a list is not hashable.
# Of a shared connection, b is the one that it is reached through: `gateway.connections.shared`.
_CONNECTION = """
       c.id, c.resource_id, c.kind, c.provider, c.mode, c.account_email,
       c.can_write AND COALESCE(b.can_write, c.can_write),
       CASE WHEN b.status <> 'active' THEN b.status ELSE c.status END,
       COALESCE(b.base_url, c.base_url), CAST(c.selected_site_ids AS TEXT),
       CAST(COALESCE(b.granted_scopes, c.granted_scopes) AS TEXT), c.shared_on,
       CASE WHEN b.status <> 'active' THEN b.status_cause ELSE c.status_cause END,
       COALESCE(b.expires_at, c.expires_at)"""
# The connections that a token reaches: docs/spec/tokens.md#reach. A resource without any has one
# row with a null connection.
_REACH = """
  LEFT JOIN token_resources t ON t.token_id = a.id
  LEFT JOIN operator_resources o
    ON o.operator_id = a.operator_id AND o.resource_id = t.resource_id
  LEFT JOIN connections c ON c.operator_id = o.operator_id AND c.resource_id = o.resource_id
  LEFT JOIN connections b ON b.id = c.shared_on"""
_FROM_CHAIN = f"\n  FROM chain JOIN access_tokens a ON a.id = chain.id{_REACH}"
_FROM_TOKEN = f"\n  FROM access_tokens a{_REACH}"
_CHAIN = """
WITH RECURSIVE chain (id, parent_id, depth) AS (
  SELECT id, parent_id, 0 FROM access_tokens WHERE digest = :digest OR previous_digest = :digest
  UNION ALL
  SELECT p.id, p.parent_id, chain.depth + 1
    FROM chain JOIN access_tokens p ON p.id = chain.parent_id WHERE chain.depth < {depth})"""
PARENT, DEPTH, AUDIENCE, TOKEN_COLUMNS = 9, 10, 11, 12  # before those of a connection
SEALED, SHARED_ON = -1, -2  # the last columns: the head of sealed credentials, whose they are
BY_DIGEST = f"""{_CHAIN.format(depth=MAX_ANCESTORS)}
SELECT a.id, a.name, a.key_id, a.digest, a.previous_until, a.operator_id, a.policy_rev,
       a.expires_at, a.revoked_at, a.parent_id, chain.depth, a.audience,{_CONNECTION},
       substr(COALESCE(b.credentials, c.credentials), 1, {keyring.HEAD_BYTES}){_FROM_CHAIN}
 ORDER BY chain.depth, c.id
"""
BY_ID = BY_DIGEST.replace("digest = :digest OR previous_digest = :digest", "id = :id")
SETTINGS = (
    "SELECT CAST(settings AS TEXT), policy_rev, added_rules FROM access_tokens WHERE id = :id"
)
RULES = "SELECT id, rule_type, pattern, action FROM collab_rules WHERE token_id = :id"
ADDED_RULES = f"{RULES} AND id > :last AND source = 'auto'"
CONNECTIONS = f"""
SELECT {_CONNECTION}{_FROM_TOKEN}
 WHERE a.id = :id AND c.id IS NOT NULL ORDER BY c.id
"""
