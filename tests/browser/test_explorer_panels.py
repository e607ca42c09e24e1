"""The explorer's panels: the token, the cost of a run, masks, the REST call, and refusals."""

import json
import re

import pytest

pytestmark = pytest.mark.browser

NAMES = ("full", "reader", "masked", "selected", "team", "supervised")


def choose(look, name):
    """Connect with a profile of the demo by one click."""
    look.page.goto(f"{look.origin}/explorer/")
    look.page.click(f".gw-profiles >> text={name}")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=#")


def run(look, *, operation):
    """Run the document in the editor; return the body of the answer that the panel shows."""

    def is_ours(response):
        sent = response.request.post_data or ""
        return response.url.endswith("/graphql") and f'"operationName":"{operation}"' in sent

    look.page.wait_for_selector(f".graphiql-query-editor .view-line >> text={operation}")
    look.page.wait_for_timeout(1000)  # GraphiQL reads the names of operations some time after
    with look.page.expect_response(is_ours) as answered:
        look.page.click(".graphiql-execute-button")
    look.page.wait_for_selector(".gw-facts >> text=HTTP")
    return answered.value.json()


def panel(look, title):
    look.page.click(f"[aria-label*='{title}']")
    look.page.wait_for_selector(".gw-panel")


def test_the_empty_page_offers_the_profiles_with_one_sentence_each(look):
    look.page.goto(f"{look.origin}/explorer/")
    look.page.wait_for_selector(".gw-profiles")

    shown = look.page.locator(".gw-profiles li").all_inner_texts()
    names = [re.split(r"\s+", text)[0] for text in shown]
    assert names == list(NAMES)
    assert all(re.fullmatch(r"\w+\s+[A-Z][^.]+\.", text) for text in shown)
    assert "access-gateway lets automation clients" in look.page.inner_text(".gw-empty")
    assert look.foreign == []
    assert look.complaints == []


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_connects_with_its_token(look, demo, name):
    choose(look, name)

    assert look.page.input_value("#gw-token") == demo["tokens"][name]
    assert look.foreign == []
    assert look.complaints == []


def test_a_run_shows_its_cost(look, demo):
    choose(look, "masked")
    answer = run(look, operation="Inbox")
    cost = answer["extensions"]["access"]["cost"]
    look.page.wait_for_selector(".gw-run >> text=harbourlight.example")

    facts = look.page.locator(".gw-facts span").all_inner_texts()
    assert facts == [
        "HTTP 200",
        "1 charged",
        f"{cost['remaining']} left",
        f"{cost['milliseconds']} ms",
    ]
    rows = look.page.locator(".gw-run tbody tr").all_inner_texts()
    assert [row.split("\t")[1:] for row in rows] == [
        [str(each["calls"]), f"{each['milliseconds']} ms"] for each in cost["upstreamCalls"]
    ]
    assert "nora.lindqvist@harbourlight.example · email" in rows[0]
    text = look.page.inner_text(".gw-run")
    hidden = ", ".join(answer["extensions"]["access"]["hiddenFields"]["Email"])
    assert hidden.startswith("to, body")
    assert f"Hidden fields: Email: {hidden}." in text
    request_id = look.page.inner_text(".gw-decision code")
    decisions = look.page.request.get(
        f"{look.origin}/api/decisions?requestId={request_id}",
        headers={"Authorization": f"Bearer {demo['adminToken']}"},
    ).json()["decisions"]
    assert [row["operation"] for row in decisions] == ["emails"]
    assert look.foreign == []


def test_the_panel_of_the_token_says_what_it_may_do(look):
    choose(look, "masked")
    panel(look, "This token")
    look.page.wait_for_selector(".gw-panel >> text=Left in the tightest window")

    text = look.page.inner_text(".gw-panel")
    assert "What this token may do" in text
    assert "search_emails" in text
    assert "The mask body makes these fields null: Email.body, Email.bodyType" in text
    assert "All content is open, except what a rule blocks." in text
    assert "None of its own." in text
    assert "A write waits" not in text
    assert "nora.lindqvist@harbourlight.example · Gmail (PROVIDER_A)" in text
    assert look.foreign == []
    assert look.complaints == []


def test_the_panel_tells_rules_in_general_words(look):
    choose(look, "selected")
    panel(look, "This token")
    look.page.wait_for_selector(".gw-panel >> text=Quota")

    text = look.page.inner_text(".gw-panel")
    assert "No content is open, except what a rule allows." in text
    assert "application/pdf" not in text


def test_the_panel_tells_that_writes_wait_for_a_person(look):
    choose(look, "supervised")
    panel(look, "This token")
    look.page.wait_for_selector(".gw-panel >> text=Quota")

    text = look.page.inner_text(".gw-panel")
    assert "A write waits until a person releases it." in text
    assert "A write names its account where there are several." in text
    assert "May have URLs called" not in text


def test_the_panel_tells_that_effects_are_shown_first(look, demo):
    admin = {"Authorization": f"Bearer {demo['adminToken']}"}
    path, request = f"{look.origin}/api/access-tokens", look.page.request
    tokens = request.get(path, headers=admin).json()["tokens"]
    owner = {name: tokens[0][name] for name in ("operatorId", "resourceIds")}
    body = {**owner, "name": "effects", "settings": {"writes": "effect"}}
    made = request.post(path, headers=admin, data=body).json()
    look.page.goto(f"{look.origin}/explorer/")
    look.page.fill("#gw-token", made["token"])
    look.page.click("text=Connect")
    panel(look, "This token")

    look.page.wait_for_selector(
        ".gw-panel >> text=A write runs only as the effect that was shown before it."
    )


def test_masked_fields_are_grey_in_the_documentation(look):
    choose(look, "masked")
    look.page.click("[aria-label*='Documentation']")
    look.page.click(".graphiql-doc-explorer-type-name >> text=Query")
    look.page.click(".graphiql-doc-explorer-type-name >> text=/^EmailPage$/")
    look.page.click(".graphiql-doc-explorer-type-name >> text=/^Email$/")
    look.page.wait_for_selector("[data-masked-by]")

    marked = {
        re.split("[:(]", item.inner_text())[0]: item.get_attribute("data-masked-by")
        for item in look.page.locator("[data-masked-by]").all()
    }
    by_body = dict.fromkeys(("body", "bodyType", "links", "text"), "body")
    hidden = {"to": "to", "attachments": "attachments", "bodyPreview": "body_preview"}
    assert marked == {**hidden, **by_body}
    opacity = "element => getComputedStyle(element.firstElementChild).opacity"
    assert look.page.eval_on_selector("[data-masked-by=to]", opacity) == "0.6"
    assert look.foreign == []


def test_a_document_has_its_rest_call_to_copy(look, demo):
    look.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    choose(look, "full")
    look.page.goto(f"{look.origin}/explorer/open.html#operation=ListEmails")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=ListEmails")
    panel(look, "REST call")
    look.page.click("text=Copy")
    look.page.wait_for_selector(".gw-panel >> text=Copied.")

    line = look.page.inner_text(".gw-panel pre")
    assert line == (
        'curl -H "Authorization: Bearer $TOKEN" '
        f"'{look.origin}/api/access/email/messages?q=invoice&limit=2'"
    )
    assert look.page.evaluate("() => navigator.clipboard.readText()") == line
    assert demo["tokens"]["full"] not in look.page.inner_text("body")
    assert look.foreign == []


def test_the_first_starter_has_its_nearest_rest_call(look):
    choose(look, "full")
    panel(look, "REST call")
    look.page.wait_for_selector(
        ".gw-panel >> text=/It returns these and \\d+ more members: .*body/"
    )

    assert "GET /api/access/email/messages?limit=5" in look.page.inner_text(".gw-panel")
    assert look.complaints == []


def test_a_document_without_a_rest_call_names_what_prevents_it(look):
    choose(look, "full")
    look.page.click(".graphiql-tab-button >> text=Promises")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=Promises")
    panel(look, "REST call")
    look.page.wait_for_selector(".gw-panel >> text=GraphQL alone can do this")

    assert "REST has no call for person." in look.page.inner_text(".gw-panel")
    assert look.complaints == []


def test_a_refused_filter_shows_its_layers_in_the_order_of_the_call(look):
    choose(look, "masked")
    query = 'query Hidden { emails(to: "a@b.example") { totalCount } }'
    tab = {"id": "1", "hash": None, "title": "Hidden", "query": query, "operationName": "Hidden"}
    tabs = {"activeTabIndex": 0, "tabs": [{**tab, "variables": None, "headers": None}]}
    look.page.evaluate("text => localStorage.setItem('graphiql:tabState', text)", json.dumps(tabs))
    look.page.evaluate("query => localStorage.setItem('graphiql:query', query)", query)
    look.page.reload()
    run(look, operation="Hidden")
    look.page.click("text=Why was this refused?")
    look.page.wait_for_selector(".gw-layers")

    chips = look.page.locator(".gw-layers li").all_inner_texts()
    assert chips[-3:] == ["mask: refused", "scope: not reached", "upstream: not reached"]


def test_a_refusal_is_explained_and_nothing_is_sent(look, demo):
    calls = f"{look.origin}/sandbox/calls/provider-a"
    choose(look, "reader")
    look.page.click(".graphiql-tab-button >> text=Send")
    run(look, operation="Send")
    look.page.request.delete(calls)
    look.page.click("text=Why was this refused?")
    look.page.wait_for_selector(".gw-explained")

    text = look.page.inner_text(".gw-explained")
    assert "sendEmail · refused · OPERATION_NOT_ALLOWED" in text
    assert "An operator can add send_email to the token's operations." in text
    layers = {
        item.inner_text(): item.get_attribute("data-outcome")
        for item in look.page.locator(".gw-layers li").all()
    }
    assert len(layers) == 12
    assert layers["operation: refused"] == "refused"
    assert layers["surface: passed"] == "passed"
    assert layers["upstream: not reached"] == "not_reached"
    assert look.page.request.get(calls).json()["calls"] == []
    assert look.foreign == []


def test_the_panels_work_by_keyboard(look):
    look.page.goto(f"{look.origin}/explorer/")
    look.page.wait_for_selector(".gw-profiles")
    for _ in range(12):
        look.page.keyboard.press("Tab")
        if look.page.evaluate("() => document.activeElement.innerText") == "full":
            break
    outline = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert look.page.evaluate(outline) == "solid"
    look.page.keyboard.press("Enter")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=#")
    assert look.page.evaluate("() => document.activeElement.tagName") == "MAIN"
    look.page.focus("[aria-label*='This token']")
    look.page.keyboard.press("Enter")
    look.page.wait_for_selector(".gw-panel >> text=What this token may do")
    look.page.keyboard.press("Tab")
    look.page.keyboard.press("Enter")
    look.page.wait_for_selector(".gw-panel >> text=REST call for this document")


def test_every_panel_fits_a_phone(look):
    look.page.set_viewport_size({"width": 390, "height": 844})
    choose(look, "masked")
    run(look, operation="Inbox")
    boxes = [look.page.locator(".gw-run").bounding_box()]
    for title in ("This token", "REST call"):
        panel(look, title)
        look.page.wait_for_timeout(300)  # the pane is laid out
        boxes.append(look.page.locator(".gw-panel").bounding_box())
        assert look.page.locator(".graphiql-query-editor").bounding_box()["width"] > 150

    assert look.page.evaluate("() => document.documentElement.scrollWidth") == 390
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert min(box["width"] for box in boxes) > 250
    assert min(box["height"] for box in boxes) > 80
    for scrolled in (".gw-run", ".gw-panel"):
        assert look.page.locator(scrolled).get_attribute("tabindex") == "0"


def brightness(look, selector, property_name):
    value = look.page.eval_on_selector(
        selector, f"element => getComputedStyle(element).{property_name}"
    )
    red, green, blue = [float(part) for part in re.findall(r"[\d.]+", value)[:3]]
    return (red + green + blue) / 3


def test_the_panels_are_light_on_dark_in_the_dark(look):
    look.page.emulate_media(color_scheme="dark")
    choose(look, "masked")
    run(look, operation="Inbox")
    panel(look, "This token")

    assert brightness(look, ".gw-panel", "color") > 150
    assert brightness(look, ".gw-run", "color") > 150
    assert brightness(look, ".gw", "backgroundColor") < 80


def test_a_call_of_each_surface_opens_in_the_explorer(look):
    """`tests/gateway/http/test_pages.py` checks the links of all; opening all takes minutes."""
    documents = look.page.request.get(f"{look.origin}/explorer/operations.json").json()
    look.page.goto(f"{look.origin}/docs/")
    look.page.wait_for_selector("[data-path='/graphql/explain']")
    links = []
    for tag in ("Email", "Calendar", "Tasks", "Collaboration_content"):
        control = look.page.locator(f"[id^='operations-{tag}-'] .opblock-summary-control").first
        control.click()
        link = look.page.wait_for_selector(".opblock.is-open a >> text=Open in the explorer")
        links.append(link.evaluate("link => link.href"))
        control.click()
        look.page.wait_for_selector(".opblock.is-open", state="detached")

    starts, names = zip(*(link.split("#operation=") for link in links), strict=True)
    assert set(starts) == {f"{look.origin}/explorer/open.html"}
    assert set(names) <= documents.keys()
    assert len(set(names)) == 4
    assert look.foreign == []
