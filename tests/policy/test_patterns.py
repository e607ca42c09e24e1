"""Accepted and stored forms of rule patterns (docs/spec/rules.md#patterns)."""

import pytest

from policy.patterns import ACCEPTED_FORMS, normalize
from policy.refusals import InvalidInput
from policy.vocabulary import Code, RuleAction, RuleType

GUID = "0A1B2C3D-0000-4111-8222-333344445555"
LOWER = GUID.lower()
SITE = f"contoso.example,{GUID},{GUID}"

ACCEPTED = [
    ("a bare item id", RuleType.FILE_ID, "01ABC", "01ABC"),
    ("an item id with its drive", RuleType.FILE_ID, "b!x:01ABC", "b!x:01ABC"),
    ("a prefixed file", RuleType.FILE_ID, "collab:drive:b!x:item:01ABC", "b!x:01ABC"),
    ("a prefixed folder", RuleType.FOLDER, " collab:drive:b!x:item:01F ", "b!x:01F"),
    ("a library's root", RuleType.FOLDER, "collab:drive:b!x:item:root", "b!x:root"),
    ("a drive", RuleType.DRIVE_ID, "b!x_-.y", "b!x_-.y"),
    ("a prefixed drive", RuleType.DRIVE_ID, "collab:drive:b!x", "b!x"),
    ("a site", RuleType.SITE_ID, SITE, SITE.lower()),
    ("a prefixed site", RuleType.SITE_ID, f"collab:site:{SITE}", SITE.lower()),
    ("a list", RuleType.LIST_ID, GUID, LOWER),
    ("a prefixed list", RuleType.LIST_ID, f"collab:site:{SITE}:list:{GUID}", LOWER),
    ("a list item", RuleType.LIST_ITEM_ID, f"{GUID}:007", f"{LOWER}:7"),
    (
        "a prefixed list item",
        RuleType.LIST_ITEM_ID,
        f"collab:site:{SITE}:list:{GUID}:item:7",
        f"{LOWER}:7",
    ),
    ("a MIME type", RuleType.MIME_TYPE, "Image/PNG", "image/png"),
    ("any MIME type", RuleType.MIME_TYPE, "*", "*"),
    ("a MIME glob", RuleType.MIME_TYPE, "*/vnd.*+xml", "*/vnd.*+xml"),
    ("a label", RuleType.SENSITIVITY_LABEL_ID, GUID, LOWER),
    ("a content type", RuleType.CONTENT_TYPE_ID, "0x0100AB", "0x0100AB"),
]
REFUSED = [
    ("nothing", RuleType.FILE_ID, "  "),
    ("no text", RuleType.FILE_ID, 7),
    ("too long", RuleType.CONTENT_TYPE_ID, "x" * 1025),
    ("a site where a file is due", RuleType.FILE_ID, f"collab:site:{SITE}"),
    ("a file where a drive is due", RuleType.DRIVE_ID, "collab:drive:b!x:item:01ABC"),
    ("a list where a site is due", RuleType.SITE_ID, f"collab:site:{SITE}:list:{GUID}"),
    ("a list item where a list is due", RuleType.LIST_ID, f"{GUID}:7"),
    ("a half site id", RuleType.SITE_ID, f"contoso.example,{GUID}"),
    ("a bare list item to allow", RuleType.LIST_ITEM_ID, "7"),
    ("a word for a root folder", RuleType.FILE_ID, "collab:drive:b!x:item:root"),
    ("a bare word for a root folder", RuleType.FILE_ID, "root"),
    ("a path in an id", RuleType.FILE_ID, "../secret"),
    ("a newline after an id", RuleType.DRIVE_ID, "b!x\ny"),
    ("a MIME type without a slash", RuleType.MIME_TYPE, "png"),
    ("a MIME glob without a slash", RuleType.MIME_TYPE, "image*"),
    ("the end of a MIME type", RuleType.MIME_TYPE, "*pdf"),
    ("a MIME type with parameters", RuleType.MIME_TYPE, "text/plain; charset=utf-8"),
    ("a label that is no GUID", RuleType.SENSITIVITY_LABEL_ID, "secret"),
    ("a prefix left over", RuleType.CONTENT_TYPE_ID, "collab:0x01"),
]


@pytest.mark.parametrize(("words", "rule_type", "pattern", "raw"), ACCEPTED)
def test_it_is_stored_raw(words, rule_type, pattern, raw):
    assert normalize(rule_type, pattern, RuleAction.ALLOW) == raw


@pytest.mark.parametrize(("words", "rule_type", "pattern"), REFUSED)
def test_an_invalid_pattern_is_refused(words, rule_type, pattern):
    with pytest.raises(InvalidInput) as refused:
        normalize(rule_type, pattern, RuleAction.ALLOW)

    assert refused.value.code is Code.INVALID_PATTERN


def test_a_bare_list_item_may_be_blocked_in_every_list():
    assert normalize(RuleType.LIST_ITEM_ID, "7", RuleAction.BLOCK) == "7"


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: row[0])
def test_the_raw_form_is_its_own_raw_form(row):
    _, rule_type, _, raw = row

    assert normalize(rule_type, raw, RuleAction.ALLOW) == raw


def test_every_rule_type_describes_its_patterns():
    assert set(ACCEPTED_FORMS) == set(RuleType)
