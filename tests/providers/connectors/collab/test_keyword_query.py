import pytest

from providers.connectors.collab.search import keyword_query
from providers.connectors.collab.search.keyword_query import Phrase, SearchDocument
from providers.ports.collab import InvalidSearch

PLAN = SearchDocument(
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
def test_matching_searches(text):
    assert keyword_query.matches(keyword_query.parse(text), PLAN)


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
        pytest.param("colour:red", id="a field that is not document"),
        pytest.param("keel or plan", id="a small or is a word"),
        pytest.param("sail OR plan mast", id="and binds tighter than or"),
    ],
)
def test_searches_without_a_match(text):
    assert not keyword_query.matches(keyword_query.parse(text), PLAN)


@pytest.mark.parametrize(
    "text",
    ['"keel', 'title:"keel', "(keel", "keel)", "a) OR (b", "OR", "keel OR", "()", "NOT", "(" * 30],
)
def test_unbalanced_or_incomplete_searches_are_invalid(text):
    with pytest.raises(InvalidSearch):
        keyword_query.parse(text)


def test_searches_of_more_than_fifty_terms_are_invalid():
    with pytest.raises(InvalidSearch):
        keyword_query.parse(" ".join(["word"] * 51))


def test_alternatives_are_sets_of_phrases_that_a_match_contains():
    term = keyword_query.parse("(keel OR mast) -sail title:boat filetype:docx")

    assert set(keyword_query.alternatives(term)) == {
        frozenset({Phrase(("keel",)), Phrase(("boat",))}),
        frozenset({Phrase(("mast",)), Phrase(("boat",))}),
    }


def test_too_many_alternatives_are_refused():
    with pytest.raises(InvalidSearch):
        keyword_query.alternatives(keyword_query.parse("(a OR b OR c) (d OR e OR f)"))


def test_phrases_found_by_upstream_are_not_checked_again():
    document = SearchDocument(fields={"title": "x"}, trusted=frozenset({Phrase(("keel",))}))

    assert keyword_query.matches(keyword_query.parse("keel"), document)
    assert not keyword_query.matches(keyword_query.parse("keel sail"), document)
