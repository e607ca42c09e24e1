"""Cost of a decision on a file under 10 rules, and under 100,000."""

from collections.abc import Sequence

from benchmarks.rounds import Run
from benchmarks.table import Promise, Table
from policy.rule_facts import Facts, Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType

FEW = 10
MANY = 100_000  # the limit per token; docs/spec/rules.md#errors-of-rule-management
FILES = 200
DEPTH = 8  # folders above a file
# Rules that are looked up by an id; patterns of MIME types are compared once per type.
_KINDS = (
    RuleType.FILE_ID,
    RuleType.FOLDER,
    RuleType.DRIVE_ID,
    RuleType.SITE_ID,
    RuleType.LIST_ID,
    RuleType.LIST_ITEM_ID,
    RuleType.SENSITIVITY_LABEL_ID,
    RuleType.CONTENT_TYPE_ID,
)


def table() -> Table:
    """Return the table: the same files under few and under many rules, of which none matches."""
    few, many = f"{FEW} rules", f"{MANY:,} rules"
    return Table(
        f"Decisions on {FILES} files",
        {few: _deciding(FEW), many: _deciding(MANY)},
        (Promise("R7", many, few, 1.5),),
    )


def _deciding(count: int) -> Run:
    rules = RuleSet.compile(_rules(count), allow_by_default=True)
    files = _files()

    async def decide() -> int:
        return sum(rules.decide(file).allowed for file in files)

    return decide


def _rules(count: int) -> list[Rule]:
    return [
        Rule(
            id=number,
            rule_type=_KINDS[number % len(_KINDS)],
            pattern=f"x{number // 8}:{number}" if number % 2 else f"x{number}",
            action=RuleAction.BLOCK,
        )
        for number in range(1, count + 1)
    ]


def _files() -> Sequence[Facts]:
    return [
        Facts(
            item=("drive", f"file{number}"),
            drive_id="drive",
            ancestors=frozenset(("drive", f"folder{number}.{level}") for level in range(DEPTH)),
            site_id="site",
            list_id="list",
            list_item_id=str(number),
            mime_type="application/pdf",
            label_ids=frozenset({"label"}),
            content_type_id="0x0101",
        )
        for number in range(FILES)
    ]
