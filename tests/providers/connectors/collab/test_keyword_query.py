import pytest

from providers.connectors.collab.search import keyword_query
from providers.connectors.collab.search.keyword_query import Known, Said
from providers.ports.collab import InvalidSearch

PLAN = Known(
    fields={
        "title": "Keel plan of the Meridian",
        "filename": "Keel plan of the Meridian.docx",
        "filetype": "docx",
        "author": "Ann Miller ann@x.test",
        "path": "https://content.x.test/sites/yard/Boats/plan.docx",
        "contenttype": "Document",
        "lastmodifiedtime": "2026-03-05T10:00:00Z",
    }
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("keel", id="a word"),
        pytest.param("KEEL Meridian", id="words in any case, all of them"),
        pytest.param("keel AND plan", id="and in words"),
        pytest.param('"keel plan"', id="a phrase"),
        pytest.param("merid*", id="a beginning"),
        pytest.param('"keel pl"*', id="a phrase with a beginning"),
        pytest.param("sail OR keel", id="either"),
        pytest.param("keel NOT sail", id="without"),
        pytest.param("keel -sail", id="without by a sign"),
        pytest.param('keel -"plan keel"', id="without a phrase"),
        pytest.param("keel (sail OR plan)", id="a group"),
        pytest.param("title:plan", id="a title"),
        pytest.param('title:"keel plan"', id="a phrase in the title"),
        pytest.param("filename:meridian.docx", id="a file name"),
        pytest.param("filetype:DOCX", id="a file type"),
        pytest.param("author:ann", id="an author"),
        pytest.param('path:"https://content.x.test/sites/yard"', id="a place"),
        pytest.param("contenttype:document", id="a content type"),
        pytest.param("lastmodifiedtime>=2026-03-05", id="since a day"),
        pytest.param("lastmodifiedtime<=2026-03-05", id="until the end of a day"),
        pytest.param("lastmodifiedtime:2026-03-05", id="on a day"),
        pytest.param("lastmodifiedtime>2026-03-04", id="after a day"),
        pytest.param("lastmodifiedtime<2026-03-06", id="before a day"),
        pytest.param("lastmodifiedtime:2026-03-01..2026-03-05", id="between days"),
        pytest.param("write>=2026-03-05T09:00:00Z", id="another name, and a time"),
        pytest.param("-filetype:pdf keel", id="without a file type"),
        pytest.param("+keel", id="with, by a sign"),
    ],
)
def test_a_thing_is_found(text):
    assert keyword_query.found(keyword_query.parse(text), PLAN)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kee", id="part of a word"),
        pytest.param('"plan keel"', id="words the other way round"),
        pytest.param("keel sail", id="one word of two"),
        pytest.param("NOT keel", id="without"),
        pytest.param("keel -plan", id="with and without"),
        pytest.param("title:docx", id="another field"),
        pytest.param("filetype:doc", id="part of a file type"),
        pytest.param("lastmodifiedtime>2026-03-05", id="after the day"),
        pytest.param("lastmodifiedtime<2026-03-05", id="before the day"),
        pytest.param("lastmodifiedtime<>2026-03-05", id="not on the day"),
        pytest.param("colour:red", id="a field that is not known"),
        pytest.param("keel or plan", id="a small or is a word"),
        pytest.param("sail OR plan mast", id="and binds tighter than or"),
    ],
)
def test_a_thing_is_not_found(text):
    assert not keyword_query.found(keyword_query.parse(text), PLAN)


@pytest.mark.parametrize(
    "text",
    ['"keel', 'title:"keel', "(keel", "keel)", "a) OR (b", "OR", "keel OR", "()", "NOT", "(" * 30],
)
def test_what_does_not_parse_is_refused(text):
    with pytest.raises(InvalidSearch):
        keyword_query.parse(text)


def test_a_search_of_too_many_terms_is_refused():
    with pytest.raises(InvalidSearch):
        keyword_query.parse(" ".join(["word"] * 51))


def test_the_fields_that_are_looked_at_are_named_without_aliases():
    assert keyword_query.selectors("a title : keel") == {"title"}
    text = 'keel -author:ann (write>2026-01-01 OR NOT FileExtension:pdf) title:"a b"'

    assert keyword_query.selectors(text) == {"author", "lastmodifiedtime", "filetype", "title"}


def test_words_alone_look_at_no_field():
    assert keyword_query.selectors('keel "http://x.test/a" 10:30') == frozenset()


def test_one_of_several_sets_of_words_is_said_by_whatever_matches():
    term = keyword_query.parse("(keel OR mast) -sail title:boat filetype:docx")

    assert set(keyword_query.probes(term)) == {
        frozenset({Said(("keel",)), Said(("boat",))}),
        frozenset({Said(("mast",)), Said(("boat",))}),
    }


def test_too_many_alternatives_are_refused():
    with pytest.raises(InvalidSearch):
        keyword_query.probes(keyword_query.parse("(a OR b OR c) (d OR e OR f)"))


def test_what_upstream_found_needs_no_second_look():
    known = Known(fields={"title": "x"}, trusted=frozenset({Said(("keel",))}))

    assert keyword_query.found(keyword_query.parse("keel"), known)
    assert not keyword_query.found(keyword_query.parse("keel sail"), known)
