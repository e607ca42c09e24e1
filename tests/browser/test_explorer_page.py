"""The GraphiQL page: from our own origin, token in the tab alone, usable on the demo world."""

import pytest
from playwright.sync_api import TimeoutError as NotShown

pytestmark = pytest.mark.browser


def connect(look, token):
    look.page.goto(f"{look.origin}/explorer/")
    look.page.fill("#gw-token", token)
    look.page.click("text=Connect")


def ready(look):
    """Wait until the editor shows a document."""
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=#")


def open_tab(look, name):
    look.page.click(f".graphiql-tab-button >> text={name}")
    look.page.wait_for_selector(f".graphiql-query-editor .view-line >> text={name}")


def run_tab(look):
    """Press the button; return what the server answered, once the page shows it."""

    def is_ours(response):
        return (
            response.url.endswith("/graphql") and "Introspection" not in response.request.post_data
        )

    for _ in range(4):  # a tab that has just been opened may still swallow its first run
        with look.page.expect_response(is_ours) as answered:
            look.page.click(".graphiql-execute-button")
        try:
            look.page.wait_for_selector(".result-window .view-line >> text=data", timeout=4000)
        except NotShown:
            continue
        return answered.value.json()
    pytest.fail("The page never showed the answer.")


def test_a_refused_token_does_not_open_the_explorer(look):
    connect(look, "agw_nope")

    look.page.wait_for_function(
        "() => document.querySelector('.gw-note').innerText.includes('401')"
    )

    assert look.page.query_selector(".graphiql-execute-button") is None
    assert look.foreign == []


def test_the_admin_token_is_recognised(look, demo):
    connect(look, demo["adminToken"])

    look.page.wait_for_selector("[role=alert] >> text=This is the admin token")
    assert "access-gateway token create" in look.page.inner_text(".gw-note")
    assert look.page.query_selector(".graphiql-execute-button") is None
    assert look.page.evaluate("() => sessionStorage.length") == 0


@pytest.mark.parametrize(("width", "most"), [(1440, 50), (1024, 50), (390, 90)])
def test_the_header_is_low_and_panels_are_closed_at_first(look, demo, width, most):
    look.page.set_viewport_size({"width": width, "height": 800})
    connect(look, demo["tokens"]["full"])
    ready(look)

    tabs = look.page.locator(".graphiql-tab-button").all_inner_texts()
    assert tabs == ["Inbox", "Search", "Promises", "Send"]
    assert look.page.locator(".gw-bar").bounding_box()["height"] <= most
    assert look.page.locator(".graphiql-plugin").inner_text() == ""
    assert "Ctrl-Enter" in look.page.inner_text(".gw-run")
    assert look.page.locator("h1").all_inner_texts() == ["access-gateway"]


def test_the_first_tab_runs_on_the_demo_world(look, demo):
    connect(look, f"Bearer {demo['tokens']['full']}")
    ready(look)

    answer = run_tab(look)

    assert len(answer["data"]["emails"]["emails"]) == 5
    assert "errors" not in answer
    assert look.foreign == []
    assert look.complaints == []


@pytest.mark.parametrize("tab", ["Search", "Promises", "Send"])
def test_every_starter_tab_runs(look, demo, tab):
    connect(look, demo["tokens"]["full"])
    ready(look)
    open_tab(look, tab)

    assert "errors" not in run_tab(look)


def test_a_masked_token_sees_null_in_the_same_tab(look, demo):
    connect(look, demo["tokens"]["masked"])
    ready(look)
    open_tab(look, "Search")

    page = run_tab(look)["data"]["emails"]

    assert len(page["emails"]) == 3
    assert {email["body"] for email in page["emails"]} == {None}
    assert [email["to"] for email in page["emails"]] == [None] * 3
    assert page["accessInfo"] == "Hidden email fields: to, body_preview, body, attachments."


def test_the_page_fits_a_phone(look, demo):
    look.page.set_viewport_size({"width": 390, "height": 844})
    connect(look, demo["tokens"]["full"])
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=#")

    assert "errors" not in run_tab(look)
    boxes = {
        name: look.page.locator(name).bounding_box()
        for name in (
            *("#gw-token", "[type=submit]", ".gw-quiet", ".gw-docs"),
            *(".graphiql-execute-button", ".graphiql-query-editor", ".result-window"),
        )
    }
    assert look.page.evaluate("() => document.documentElement.scrollWidth") == 390
    assert [
        name for name, box in boxes.items() if box["x"] < 0 or box["x"] + box["width"] > 390
    ] == []
    assert boxes[".graphiql-query-editor"]["y"] < boxes[".result-window"]["y"]
    assert min(boxes[name]["width"] for name in (".result-window", ".graphiql-query-editor")) > 200


def test_a_reload_connects_again(look, demo):
    connect(look, demo["tokens"]["full"])
    ready(look)

    look.page.reload()

    ready(look)
    assert "errors" not in run_tab(look)


def test_the_page_connects_again_when_the_gateway_is_back(look, demo):
    connect(look, demo["tokens"]["full"])
    ready(look)

    look.page.context.set_offline(True)
    look.page.click(".graphiql-execute-button")
    look.page.wait_for_selector("[role=alert] >> text=The gateway does not answer")
    look.page.wait_for_selector(".result-window .view-line >> text=did not answer")
    look.page.context.set_offline(False)

    look.page.wait_for_selector("[role=status] >> text=Connected")
    assert "errors" not in run_tab(look)


def test_completion_knows_the_schema(look, demo):
    connect(look, demo["tokens"]["full"])
    ready(look)
    look.page.click("[aria-label*='GraphiQL Explorer']")
    look.page.wait_for_selector(".graphiql-explorer-root >> text=accessToken")
    look.page.click(".graphiql-query-editor .view-lines")
    look.page.keyboard.press("Control+A")
    look.page.keyboard.type("{ emails { ")
    look.page.keyboard.type("tot")

    look.page.wait_for_selector(".suggest-widget .monaco-list-row >> text=totalCount")

    assert look.foreign == []


def test_the_token_stays_in_the_tab(look, demo):
    token = demo["tokens"]["full"]
    connect(look, token)
    ready(look)
    run_tab(look)

    stored = look.page.evaluate("() => JSON.stringify(localStorage)")
    other = look.page.context.new_page()
    other.goto(f"{look.origin}/explorer/")

    assert token not in stored
    assert other.input_value("#gw-token") == ""


def test_forgetting_removes_queries_variables_and_history(look, demo):
    connect(look, demo["tokens"]["full"])
    ready(look)
    run_tab(look)
    look.page.wait_for_function("() => Object.keys(localStorage).length > 0")
    look.page.evaluate(  # the editor stores its tabs when the page is already being left
        "() => addEventListener('beforeunload', () => localStorage.setItem("
        "'graphiql:tabState', '{}'))"
    )

    look.page.click("text=Forget")
    look.page.wait_for_function(
        "() => document.querySelector('.gw-note')?.innerText.includes('are removed')"
    )

    assert look.page.evaluate("() => Object.keys(localStorage)") == []
    assert look.page.evaluate("() => Object.keys(sessionStorage)") == []
    assert look.page.input_value("#gw-token") == ""


def test_the_empty_page_tells_where_a_token_comes_from(look):
    look.page.goto(f"{look.origin}/explorer/")

    look.page.wait_for_selector(".gw-empty code >> text=./run demo")


def test_the_page_may_load_nothing_from_elsewhere(look):
    answer = look.page.goto(f"{look.origin}/explorer/")

    policy = answer.headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe-eval" not in policy


def test_a_browser_at_the_graphql_address_is_shown_the_page(look):
    look.page.goto(f"{look.origin}/graphql")

    assert look.page.url == f"{look.origin}/explorer/"


def test_the_rest_reference_lists_the_paths_and_loads_nothing_foreign(look):
    look.page.goto(f"{look.origin}/docs/")
    look.page.wait_for_selector("[data-path='/api/access/email/messages']")

    assert look.foreign == []
    assert look.complaints == []


def test_the_rest_reference_takes_a_token_of_the_demo_with_one_click(look):
    look.page.goto(f"{look.origin}/docs/")
    look.page.wait_for_selector("[data-path='/api/access/token']")
    first = look.page.locator("[data-path='/api/access/email/messages']").first.bounding_box()
    look.page.click("#tokens >> text=reader")
    look.page.click("[data-path='/api/access/token']")
    look.page.click(".opblock.is-open .execute")

    look.page.wait_for_selector(".opblock.is-open .live-responses-table >> text=reader")
    assert first["y"] < 500
    assert look.page.locator(".info .description").is_visible() is False
    look.page.click("#intro")
    assert look.page.locator(".info .description").is_visible()
    unnamed = "() => document.querySelectorAll('#ui select:not([aria-label])').length"
    assert look.page.evaluate(unnamed) == 0
    assert look.foreign == []
    assert look.complaints == []


def test_the_rest_reference_shows_what_the_management_api_answers(look):
    look.page.goto(f"{look.origin}/docs/")
    look.page.click("nav >> text=Management")
    look.page.click("[data-path='/api/access-tokens/{tokenId}'] >> nth=0")
    look.page.click(".opblock.is-open .responses-table >> text=Schema")

    shown = look.page.wait_for_selector(".opblock.is-open .responses-table .model-box")
    assert "An access token without its text, which is not stored." in shown.inner_text()
    assert look.foreign == []
    assert look.complaints == []


def test_the_rest_reference_tries_a_call_out(look, demo):
    look.page.goto(f"{look.origin}/docs/")
    look.page.wait_for_selector("[data-path='/api/access/email/messages']")
    look.page.click(".authorize")
    look.page.fill(".auth-container input", demo["tokens"]["reader"])
    look.page.click(".auth-btn-wrapper .authorize")
    look.page.click(".auth-btn-wrapper .btn-done")
    look.page.click("[data-path='/api/access/token']")
    look.page.click(".opblock.is-open .execute")

    look.page.wait_for_selector(".opblock.is-open .live-responses-table >> text=reader")

    assert look.foreign == []


def test_an_operation_of_the_rest_reference_opens_in_the_explorer(look, demo):
    look.page.goto(f"{look.origin}/docs/")
    look.page.click("[data-path='/api/access/email/messages']")
    link = look.page.wait_for_selector(".opblock.is-open a >> text=Open in the explorer")
    look.page.goto(link.evaluate("link => link.href"))
    look.page.wait_for_url(f"{look.origin}/explorer/")
    look.page.wait_for_selector(".gw-empty >> text=ListEmails opens in the first tab")
    look.page.fill("#gw-token", demo["tokens"]["full"])
    look.page.click("text=Connect")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=ListEmails")
    answer = run_tab(look)

    tabs = look.page.locator(".graphiql-tab-button").all_inner_texts()
    assert tabs == ["ListEmails", "Inbox", "Search", "Promises", "Send"]
    assert answer["data"]["result"]["emails"]
    assert look.foreign == []


def test_the_document_of_a_call_opens_with_its_variables(look, demo):
    token = demo["tokens"]["full"]
    headers = {"Authorization": f"Bearer {token}", "Prefer": "graphql"}
    path = "/api/access/email/messages?limit=1&q=berth"
    explorer = look.page.request.get(f"{look.origin}{path}", headers=headers).json()["explorer"]
    connect(look, token)
    ready(look)
    look.page.goto(f"{look.origin}{explorer[explorer.index('/explorer/') :]}")
    look.page.wait_for_selector(".graphiql-query-editor .view-line >> text=ListEmails")
    answer = run_tab(look)

    assert len(answer["data"]["result"]["emails"]) == 1
    assert token not in explorer
    assert look.foreign == []
