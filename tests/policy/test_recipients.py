"""Recipient rules: the normal form of addresses, the decision, and the containment of rules."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.caller import Caller
from policy.grants import Grant, merge, validate
from policy.recipients import (
    Recipient,
    RecipientRules,
    as_written,
    normalize,
    normalize_pattern,
    patterns_of,
)
from policy.refusals import FieldNotVisible, InvalidInput, RecipientNotAllowed
from policy.remedies.changes import SetValue, apply_to_settings
from policy.remedies.settings import find_remedies
from policy.vocabulary import EmailField, Layer


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        pytest.param("bo@work.example", "bo@work.example", id="as it is"),
        pytest.param(" Bo@Work.Example ", "bo@work.example", id="case and blanks around it"),
        pytest.param("bo+lease@work.example", "bo@work.example", id="a plus-tag"),
        pytest.param("bo+a+b@work.example", "bo@work.example", id="two plus-tags"),
        pytest.param("+bo@work.example", "+bo@work.example", id="nothing before the plus"),
        pytest.param("b.o@work.example", "b.o@work.example", id="dots count"),
        pytest.param('"bo"@work.example', "bo@work.example", id="quoted"),
        pytest.param('"b\\o+x"@work.example', "bo@work.example", id="quoted pair and tag"),
        pytest.param('"b o"@work.example', "b o@work.example", id="quoted blank"),
        pytest.param('"bo@home.example"@work.example', "bo@home.example@work.example", id="two @"),
        pytest.param("bo@bücher.example", "bo@xn--bcher-kva.example", id="IDN"),
        pytest.param("bo@BÜCHER。example", "bo@xn--bcher-kva.example", id="IDN, another full stop"),
        pytest.param("bo@XN--BCHER-KVA.example", "bo@xn--bcher-kva.example", id="A-labels"),
        pytest.param("bo@work.example.", "bo@work.example", id="a final dot"),
        pytest.param("Zoe\u0308@work.example", "zo\u00eb@work.example", id="Unicode local part"),
        pytest.param("bo@[192.0.2.1]", "bo@[192.0.2.1]", id="address literal"),
        pytest.param("bo@straße.example", None, id="a host that the IDNA standards dispute"),
        pytest.param("bo@a\u200db.example", None, id="a zero-width joiner"),
        pytest.param("bo@w\u1d52rk.example", "bo@work.example", id="a letter newer than IDNA 2003"),
        pytest.param("bo@xn--wrk-idy.example", None, id="an A-label of a letter that is mapped"),
        pytest.param("bo@xn--work-.example", None, id="an A-label of ASCII"),
        pytest.param("bo@i\u2764.example", None, id="an emoji, which IDNA 2008 does not allow"),
        pytest.param("bo@xn--i-7iq.example", "bo@xn--i-7iq.example", id="an A-label of an emoji"),
        pytest.param("bo@wo\uff3frk.example", None, id="a fullwidth low line"),
        pytest.param(f"bo@{'x' * 64}.example", None, id="a label that is too long"),
        pytest.param("b\u037eo@work.example", None, id="a semicolon by NFC"),
        pytest.param("bo\u212a@work.example", "bok@work.example", id="a letter by NFC"),
        pytest.param("\u0391\u03a3@work.example", "\u03b1\u03c3@work.example", id="a final sigma"),
        pytest.param("b o@work.example", None, id="a blank"),
        pytest.param("Team: bo@work.example;", None, id="a group"),
        pytest.param("bo@home.example@work.example", None, id="two @, unquoted"),
        pytest.param("bo", None, id="no domain"),
        pytest.param("@work.example", None, id="no local part"),
        pytest.param('""@work.example', None, id="an empty local part"),
        pytest.param("bo@work..example", None, id="an empty label"),
        pytest.param("bo@work.example\r\nBcc: x@else.example", None, id="a line break"),
        pytest.param(f"{'b' * 320}@work.example", None, id="too long"),
    ],
)
def test_an_address_has_one_normal_form(address, normal):
    assert normalize(address) == normal
    assert normal is None or normalize_pattern(address) == normal


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("Bo+Lease@BÜCHER。example.", "Bo+Lease@xn--bcher-kva.example"),
        ('"b o"@Work.Example', '"b o"@work.example'),
        ("Zoe\u0308@work.example", "Zo\u00eb@work.example"),
        ("bo@straße.example", None),
        ("+@work.example", "+@work.example"),
        ('""@work.example', None),
    ],
)
def test_an_address_is_written_with_the_domain_that_is_compared(address, expected):
    assert as_written(address) == expected


@given(
    spelling=st.sampled_from([str.upper, str.lower, str.title]),
    tag=st.sampled_from(["", "+", "+lease", "+a+b"]),
    quotes=st.sampled_from(["{}", '"{}"', '"\\{}"']),
    domain=st.sampled_from(["bücher.example", "BÜCHER.example.", "xn--bcher-kva.example"]),
)
def test_every_spelling_of_an_address_has_the_same_normal_form(spelling, tag, quotes, domain):
    written = quotes.format(spelling("zoë") + tag)

    assert normalize(f"{written}@{domain}") == "zoë@xn--bcher-kva.example"


@given(local=st.text("abBé.+", min_size=1), domain=st.from_regex(r"[a-zA-Z]{1,9}", fullmatch=True))
def test_the_normal_form_of_a_normal_form_is_itself(local, domain):
    normal = normalize(f"{local}@{domain}.example")

    assert normal is not None
    assert normalize(normal) == normal


# Every pattern and address of a small world, so that an oracle can list what rules allow.
MAILBOXES = ("a@x.example", "b@x.example", "a@y.example")
STRANGERS = ("new@x.example", "new@y.example", "new@z.example")
PATTERNS = (*MAILBOXES, "@x.example", "@y.example", "*")
UNTOLD = None


def allowed_by_oracle(allow, block):
    """Return the people whom rules allow, by the words of docs/spec/recipients.md alone."""

    def matches(pattern, address):
        return pattern == "*" or pattern in (address, "@" + address.split("@")[1])

    people = {
        address
        for address in (*MAILBOXES, *STRANGERS)
        if any(matches(pattern, address) for pattern in allow)
        and not any(matches(pattern, address) for pattern in block)
    }
    return people | ({UNTOLD} if "*" in allow and not block else set())


patterns = st.frozensets(st.sampled_from(PATTERNS))


@given(allow=patterns, block=patterns)
def test_the_decision_is_that_of_the_oracle(allow, block):
    rules = RecipientRules(allow, block)
    allowed = {address for address in (*MAILBOXES, *STRANGERS, UNTOLD) if rules.allows(address)}

    assert allowed == allowed_by_oracle(allow, block)


@pytest.mark.slow
def test_containment_is_exact_for_every_pair_of_rules():
    few = ("a@x.example", "@x.example", "*", "a@y.example")
    sets = [
        frozenset(chosen)
        for chosen in chain.from_iterable(combinations(few, size) for size in range(5))
    ]
    worlds = [(RecipientRules(a, b), allowed_by_oracle(a, b)) for a in sets for b in sets]
    for rules, allowed in worlds:
        for others, allowed_by_others in worlds:
            contained = rules.allows_no_more_than(others)
            assert contained == (allowed <= allowed_by_others), (rules, others)


@given(patterns, patterns, patterns, patterns)
def test_containment_is_exact(allow, block, other_allow, other_block):
    contained = RecipientRules(allow, block).allows_no_more_than(
        RecipientRules(other_allow, other_block)
    )

    assert contained == (
        allowed_by_oracle(allow, block) <= allowed_by_oracle(other_allow, other_block)
    )


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (None, None),
        ({}, {"allow": [], "block": []}),
        ({"allow": None}, {"allow": [], "block": []}),
        (
            {"allow": ["Bo+x@Work.Example", "bo@work.example", "@BÜCHER.example"], "block": ["*"]},
            {"allow": ["bo@work.example", "@xn--bcher-kva.example"], "block": ["*"]},
        ),
    ],
)
def test_rules_are_stored_in_normal_form(stored, expected):
    assert merge({}, {"recipientRules": stored})["recipientRules"] == expected


@pytest.mark.parametrize(
    "wrong", [["bo@work.example"], {"deny": []}, {"allow": "bo@work.example"}, {"block": ["@"]}]
)
def test_unreadable_rules_are_refused_and_allow_nobody_when_stored(wrong):
    with pytest.raises(InvalidInput) as refusal:
        validate({"recipientRules": wrong})

    assert [detail.field for detail in refusal.value.details] == ["settings.recipientRules"]
    assert Grant.read({"recipientRules": wrong}).recipients == RecipientRules(
        frozenset(), frozenset()
    )


def caller(**settings):
    stored = validate({"emailAccessEnabled": True, **settings})
    return Caller(
        token_id=1,
        token_name="t",
        key_id="k",
        expires_at=None,
        policy_rev=1,
        operator_id="o",
        grant=Grant.read(stored),
        settings=stored,
        connections=(),
    )


WORK = {"allow": ["@work.example"], "block": ["boss@work.example"]}


def test_a_refusal_names_what_the_caller_gave_and_counts_the_rest():
    with pytest.raises(RecipientNotAllowed) as refusal:
        caller(recipientRules=WORK).require_recipients(
            [
                Recipient("bo@work.example", "to[0].email"),
                Recipient("boss@work.example", "to[1].email"),
                Recipient("secret@else.example"),
                Recipient(None),
            ]
        )

    assert refusal.value.message == (
        "This token may not write to boss@work.example and 2 other recipients."
    )
    assert [detail.field for detail in refusal.value.details] == ["to[1].email"]
    assert refusal.value.layer is Layer.SCOPE


def test_a_token_without_rules_writes_to_everyone():
    caller().require_recipients([Recipient(None), Recipient("x@else.example")])


@pytest.mark.parametrize("mode", ["strict", "basic"])
def test_with_rules_no_recipient_is_derived_from_a_hidden_field(mode):
    hiding = caller(recipientRules=WORK, visibleEmailFields=["subject"], maskMode=mode)

    with pytest.raises(FieldNotVisible):
        hiding.require_visible_recipients("Replying", EmailField.FROM)


@pytest.mark.parametrize(
    ("rejected", "rules"),
    [
        (
            [Recipient("x@else.example")],
            {"allow": ["@work.example", "x@else.example"], "block": ["boss@work.example"]},
        ),
        ([Recipient("boss+x@work.example")], {"allow": ["@work.example"], "block": []}),
        ([Recipient(None)], {"allow": ["*"], "block": []}),
    ],
)
def test_the_remedy_is_the_narrowest_rule(rejected, rules):
    settings = validate({"recipientRules": WORK})
    state = type("State", (), {"settings": settings, "connections": ()})()

    (remedy,) = find_remedies(RecipientNotAllowed(rejected), state)

    assert remedy == (SetValue("recipientRules", rules),)
    changed = Grant.read(apply_to_settings(settings, remedy)).recipients
    assert all(changed.allows(recipient.address) for recipient in rejected)


def test_patterns_of_an_address_are_itself_its_domain_and_everyone():
    assert patterns_of("a@x.example") == {"a@x.example", "@x.example", "*"}
