"""
Oracle for collab rules: the rule types of docs/spec/rules.md#rule-types as one SQL query.

SQL's three-valued logic models unknown facts: NULL is a fact that upstream did not report, "" one
that the resource does not have. A block rule applies unless its condition is false, an allow rule
only when its condition is true. Ancestors come from a recursive query. Ids of
items have no case, those of drives as `_same_drive` says. The oracle shares no code with the
engine.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from generated_rules import RuleWorld, Thing

_TABLES = """
CREATE TABLE thing (
    id INTEGER PRIMARY KEY, drive TEXT, item_drive TEXT, item TEXT, site TEXT, list TEXT,
    number TEXT, mime TEXT, content_type TEXT, ancestors_told INT, labels_told INT
);
CREATE TABLE lies_in (drive TEXT, item TEXT, parent TEXT);
CREATE TABLE place (thing INT, drive TEXT, parent TEXT);
CREATE TABLE label (thing INT, label TEXT);
CREATE TABLE policy (id INTEGER PRIMARY KEY, allow_all INT);
CREATE TABLE rule (policy INT, type TEXT, of TEXT, pattern TEXT, action TEXT);
"""

_VERDICTS = """
WITH RECURSIVE above(thing, drive, item) AS (
    SELECT thing, drive, parent FROM place WHERE parent <> ''
    UNION
    SELECT above.thing, lies_in.drive, lies_in.parent
      FROM above JOIN lies_in ON lies_in.drive = above.drive AND lies_in.item = above.item
     WHERE lies_in.parent <> ''
),
held AS (
    SELECT thing.id AS thing, rule.policy, rule.action, CASE rule.type
        WHEN 'file_id' THEN
            (thing.item <> '' AND upper(thing.item) = upper(rule.pattern)
             AND (rule.of IS NULL OR same_drive(thing.item_drive, rule.of, rule.action)))
        WHEN 'folder' THEN CASE WHEN thing.ancestors_told THEN EXISTS (
            SELECT 1 FROM above WHERE above.thing = thing.id
               AND upper(above.item) = upper(rule.pattern)
               AND (rule.of IS NULL OR same_drive(above.drive, rule.of, rule.action))) END
        WHEN 'drive_id' THEN same_drive(thing.drive, rule.pattern, rule.action)
        WHEN 'site_id' THEN thing.site = rule.pattern
        WHEN 'list_id' THEN thing.list = rule.pattern
        WHEN 'list_item_id' THEN
            (thing.number = rule.pattern AND (rule.of IS NULL OR thing.list = rule.of))
        WHEN 'mime_type' THEN (thing.mime <> '' AND thing.mime GLOB rule.pattern)
        WHEN 'sensitivity_label_id' THEN CASE WHEN thing.labels_told THEN EXISTS (
            SELECT 1 FROM label WHERE label.thing = thing.id AND label.label = rule.pattern) END
        WHEN 'content_type_id' THEN thing.content_type = rule.pattern COLLATE NOCASE
        END AS matches
      FROM thing CROSS JOIN rule
)
SELECT policy.id, thing.id,
       NOT EXISTS (SELECT 1 FROM held WHERE held.thing = thing.id AND held.policy = policy.id
                      AND held.action = 'block' AND held.matches IS NOT FALSE)
       AND (policy.allow_all OR EXISTS (
           SELECT 1 FROM held WHERE held.thing = thing.id AND held.policy = policy.id
              AND held.action = 'allow' AND held.matches IS TRUE))
  FROM policy CROSS JOIN thing ORDER BY policy.id, thing.id
"""
# One verdict per policy and thing; the sums are what the query above says, in one pass.
_VERDICTS_FAST = (
    _VERDICTS[: _VERDICTS.index("SELECT policy.id, thing.id")]
    + """
SELECT policy.id, thing.id,
       total(held.action = 'block' AND held.matches IS NOT FALSE) = 0
       AND (policy.allow_all OR total(held.action = 'allow' AND held.matches IS TRUE) > 0)
  FROM policy CROSS JOIN thing
  LEFT JOIN held ON held.thing = thing.id AND held.policy = policy.id
 GROUP BY policy.id, thing.id ORDER BY policy.id, thing.id
"""
)


def verdicts(world: RuleWorld, *, quick: bool = True) -> Iterator[tuple[int, int, bool]]:
    """Yield (index of the policy, index of the thing, whether it is allowed), in order."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        store.create_function("same_drive", 3, _same_drive, deterministic=True)
        store.executescript(_TABLES)
        _fill(store, world)
        for policy, thing, allowed in store.execute(_VERDICTS_FAST if quick else _VERDICTS):
            yield policy, thing, bool(allowed)


def _same_drive(drive: str | None, pattern: str | None, action: str) -> bool | None:
    """Compare drive ids: the case of a site's counts, except where a rule blocks."""
    if drive is None or pattern is None:
        return None
    same = drive == pattern
    if action == "block" or drive[:2] != "b!":
        same = drive.upper() == pattern.upper()
    return same


def _fill(store: sqlite3.Connection, world: RuleWorld) -> None:
    store.executemany(
        "INSERT INTO thing VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        [_row(number, thing) for number, thing in enumerate(world.things)],
    )
    inside = [thing for thing in world.things if thing.item]
    store.executemany(
        "INSERT INTO lies_in VALUES (?,?,?)", [(row.drive, row.item, row.parent) for row in inside]
    )
    store.executemany(
        "INSERT INTO place VALUES (?,?,?)",
        [(number, thing.drive, thing.parent) for number, thing in enumerate(world.things)],
    )
    store.executemany(
        "INSERT INTO label VALUES (?,?)",
        [(number, label) for number, thing in enumerate(world.things) for label in thing.labels],
    )
    for number, (allow_all, rules) in enumerate(world.policies):
        store.execute("INSERT INTO policy VALUES (?,?)", (number, allow_all))
        for rule in rules:
            first, colon, second = rule.pattern.partition(":")
            of, pattern = (first, second) if colon else (None, rule.pattern)
            store.execute(
                "INSERT INTO rule VALUES (?,?,?,?,?)",
                (number, rule.rule_type, of, pattern, rule.action),
            )


def _row(number: int, thing: Thing) -> tuple[object, ...]:
    def known_value(fact: str, value: str) -> str | None:
        return None if fact in thing.lost else value

    return (
        number,
        known_value("drive_id", thing.drive),
        known_value("item", thing.drive),
        known_value("item", thing.item),
        known_value("site_id", thing.site),
        known_value("list_id", thing.list),
        known_value("list_item_id", thing.number),
        known_value("mime_type", thing.mime),
        known_value("content_type_id", thing.content_type),
        "ancestors" not in thing.lost,
        "label_ids" not in thing.lost,
    )
