"""Readable text of mails without quotations and signatures: nothing new is left out."""

import pytest

from providers.readable_text.quoted_history import readable_body

WROTE = "On Tue, 3 Nov 2026 at 10:00, Ana <ana@x.example> wrote:"
ESCAPED = WROTE.replace("<", "&lt;")
HEADERS = "From: Ana\nSent: Tuesday\nTo: Bo\nSubject: Oars\n\nWhich?\nWhen?"
OUTLOOK = (
    "<hr><p><b>From:</b> Ana<br><b>Sent:</b> Tuesday<br><b>To:</b> Bo<br><b>Subject:</b> Oars</p>"
    "<p>Which?</p>"
)
TEXTS = {
    "a reply above": (
        f"Yes.\n\n{WROTE}\n> Which?\n> When?",
        f"Yes.\n\n{WROTE}\n[2 quoted lines left out]",
    ),
    "a reply below": (
        f"{WROTE}\n> Which?\n\nThe blue one.",
        f"{WROTE}\n[1 quoted line left out]\n\nThe blue one.",
    ),
    "answers between the lines": (
        f"{WROTE}\n> Which?\n\nBlue.\n\n> When?\n\nToday.",
        f"{WROTE}\n[1 quoted line left out]\n\nBlue.\n\n[1 quoted line left out]\n\nToday.",
    ),
    "an introduction of two lines": (
        "Am 3. November 2026 um 10:00 schrieb Ana\n<ana@x.example>:\n>> Wann?",
        "Am 3. November 2026 um 10:00 schrieb Ana\n<ana@x.example>:\n[1 quoted line left out]",
    ),
    "marks without an introduction": (
        "Run this:\n> make\n> make test",
        "Run this:\n> make\n> make test",
    ),
    "a number that is greater": ("5\n> 3, I think", "5\n> 3, I think"),
    "a forward": (
        "FYI\n---------- Forwarded message at 10:00 ---------:\n> Which?",
        "FYI\n---------- Forwarded message at 10:00 ---------:\n> Which?",
    ),
    "a signature": ("Yes.\n\n-- \nBo\nThe Yard", "Yes.\n\n[signature left out]"),
    "a postscript below a signature": (
        "Yes.\n-- \nBo\n\nPS: bring oars.",
        "Yes.\n[signature left out]\n\nPS: bring oars.",
    ),
    "a line of two dashes": ("Yes.\n--\nNo.", "Yes.\n--\nNo."),
    "a long text below two dashes": (
        "Yes.\n-- \n" + "line\n" * 12 + "end",
        "Yes.\n-- \n" + "line\n" * 12 + "end",
    ),
}
MARKUP = {
    "Gmail": (
        f'Yes.<div class="gmail_quote"><div class="gmail_attr">{ESCAPED}<br></div>'
        '<blockquote class="gmail_quote" style="margin:0">Which?<br>When?</blockquote></div>',
        f"Yes.\n{WROTE}\n[2 quoted lines left out]",
    ),
    "Apple Mail": (
        f'Yes.<br><blockquote type="cite"><div>{ESCAPED}</div>Which?</blockquote>No.',
        "Yes.\n[2 quoted lines left out]\nNo.",
    ),
    "a forward of Apple Mail": (
        'FYI<br>Begin forwarded message:<br><blockquote type="cite">Which?</blockquote>',
        "FYI\nBegin forwarded message:\n> Which?",
    ),
    "a forward of Gmail": (
        '<div class="gmail_quote"><div>---------- Forwarded message ---------<br>From: Ana</div>'
        "Which?</div>",
        "---------- Forwarded message ---------\nFrom: Ana\nWhich?",
    ),
    "indented text": ('Yes:<blockquote style="margin-left:40px">Oars</blockquote>', "Yes:\n> Oars"),
    "a signature of Gmail": (
        'Yes.<div class="gmail_signature"><div>Bo</div><div>Yard</div></div><div>PS</div>',
        "Yes.\n[signature left out]\nPS",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_of_a_text_it_leaves(name):
    body, text = TEXTS[name]
    assert readable_body(body, is_html=False, quoted=False, subject="Re: Oars") == text


@pytest.mark.parametrize("name", TEXTS)
def test_with_quotations_nothing_is_left_out(name):
    body, _ = TEXTS[name]
    text = readable_body(body, is_html=False, quoted=True, subject="Re: Oars")
    assert "left out" not in text
    assert [line.split() for line in text.split("\n")] == [
        line.replace(">>", "> >").split() for line in body.split("\n")
    ]


@pytest.mark.parametrize("name", MARKUP)
def test_of_html_it_leaves(name):
    body, text = MARKUP[name]
    assert readable_body(body, is_html=True, quoted=False, subject=None) == text


@pytest.mark.parametrize(
    ("subject", "is_reply"),
    [
        ("Re: Oars", True),
        ("RE: FW: Oars", True),
        ("AW: Ruder", True),
        ("回复：桨", True),
        ("FW: Oars", False),
        ("Fwd: Re: Oars", False),
        ("WG: Ruder", False),
        ("Oars", False),
        ("Regatta: oars", False),
        (None, False),
    ],
)
def test_an_original_below_its_headers_goes_with_a_reply_alone(subject, is_reply):
    text = f"Yes.\n\n-----Original Message-----\n{HEADERS}"
    shown = readable_body(text, is_html=False, quoted=False, subject=subject)
    assert shown == ("Yes.\n[9 quoted lines left out]" if is_reply else text)
    shown = readable_body(f"<p>Yes.</p>{OUTLOOK}", is_html=True, quoted=False, subject=subject)
    assert shown.startswith("Yes.\n[5 quoted lines left out]" if is_reply else "Yes.\nFrom: Ana\n")


def test_headers_that_are_not_all_there_are_text():
    text = "Dear Bo,\nFrom: Berlin\nTo: Rome\nwe travel.\nDate: tomorrow"
    assert readable_body(text, is_html=False, quoted=False, subject="Re: Trip") == text
