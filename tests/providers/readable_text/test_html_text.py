"""HTML as readable text: docs/spec/readable-text.md#html."""

import time

import pytest

from providers.readable_text.quoted_history import readable_body

ROWS = {
    "blocks are lines": ("<p>One</p><div>Two<br>Three</div>", "One\nTwo\nThree"),
    "styles, scripts, heads and comments": (
        "<head><title>t</title></head><style>p{}</style><script>x()</script><!-- c -->A",
        "A",
    ),
    "character references": ("a&amp;b &lt;p&gt; &eacute;", "a&b <p> é"),
    "elements within a word": ("o<b>ar</b>s", "oars"),
    "a link": (
        '<a href="https://x.example/a?b=1&amp;c=2">here</a>!',
        "here [1]!\n\n[1] https://x.example/a?b=1&c=2",
    ),
    "a link that is its text": ('<a href="https://x.example/">x.example</a>', "x.example"),
    "an address that is its text": ('<a href="mailto:a@x.example">a@x.example</a>', "a@x.example"),
    "one address twice": (
        '<a href="https://x.example/a">a</a><p><a href="https://x.example/a">b</a>',
        "a [1]\nb [1]\n\n[1] https://x.example/a",
    ),
    "a link of a picture": (
        '<a href="https://x.example/a"><img alt="Logo"></a>',
        "Logo [1]\n\n[1] https://x.example/a",
    ),
    "a script is no link": ('<a href="javascript:x()">here</a>', "here"),
    "a row": (
        "<table><tr><td>A</td><td>1</td></tr><tr><td>B</td><td>2</td></tr></table>",
        "A | 1\nB | 2",
    ),
    "paragraphs in cells": ("<tr><td><p>A</p></td><td><p>1</p></td></tr>", "A | 1"),
    "an empty cell keeps its place": (
        "<tr><th></th><th>Q1</th><th>Q2</th></tr><tr><td>Oars</td><td></td><td>7</td></tr>",
        " | Q1 | Q2\nOars |  | 7",
    ),
    "a table that lays out a page": (
        "<table><tr><td>&nbsp;</td><td><table><tr><td>One</td></tr><tr><td>Two</td></tr></table>"
        "</td><td></td></tr></table>",
        "One\nTwo",
    ),
    "a list": ("<ul><li>One<li><p>Two</p></ul>Three", "- One\n- Two\nThree"),
    "lines of preformatted text": ("<pre>a\nb</pre>", "a\nb"),
    "a hidden element": (
        'A<div style="display:none;max-height:0">in<div>ner</div></div><p>B</p>',
        "A\nB",
    ),
    "a hidden element without an end hides nothing": ('A<span style="display: none">B', "AB"),
    "the filling of a preview": ("Hi" + "&nbsp;&zwnj;" * 50 + "there", "Hi there"),
    "quotations": ("<blockquote>a<blockquote>b</blockquote></blockquote>c", "> a\n> > b\nc"),
    "a tag that is cut": ('A <a href="https://x.example', 'A <a href="https://x.example'),
    "a condition of Outlook": ("<!--[if mso]>x<![endif]--><![if !mso]>A<![endif]>", "A"),
}
HOSTILE = {
    "divisions": "<div>",
    "cells": "<td>x",
    "quotations": "<blockquote>x",
    "hidden": '<div style="display:none">',
    "links": "<a href=https://x.example>",
    "cut attributes": '<a href="',
    "references": "&#x41;",
    "comments": "<!--",
    "angles": "<",
    "filling": "\u200c ",
    "lines": "x\n",
    "marks": "> ",
    "headers": "From: a\n",
    "numbers": "[1] ",
}


@pytest.mark.parametrize("name", ROWS)
def test_it_becomes(name):
    markup, text = ROWS[name]
    assert readable_body(markup, is_html=True, quoted=True, subject=None) == text


@pytest.mark.parametrize("is_html", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_takes_little_time_and_room(name, is_html):
    began = time.thread_time()
    text = readable_body(HOSTILE[name] * 600_000, is_html=is_html, quoted=False, subject="Re: x")

    assert time.thread_time() - began < 10  # seconds; 0.7 at most on an idle machine
    assert len(text) < 25_000_000
    assert text.endswith(" more characters of the body were not read]")
