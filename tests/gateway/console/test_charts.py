"""Charts: what they count and leave out, without a style in an element."""

import re

import pytest

from gateway.app import assemble
from gateway.console import charts
from gateway.operations.overviews import hours
from gateway.store import timestamps
from gateway.telemetry import account_times
from gateway.telemetry.account_times import AccountTimes
from providers.http.events import CallEvent

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
HOUR_MS = 3_600_000


def cells(text, heading):
    """Return the rows of the table of a chart, and how many bars it has."""
    part = text.split(f"<h2>{heading}</h2>")[1].split("</table>")[0]
    rows = [
        tuple(re.findall(r"<td><bdi>(.*?)</bdi></td>", row))
        for row in part.split("<tbody>")[1].split("</tr>")
    ]
    return [row for row in rows if row], part.count('class="light"')


async def test_calls_and_refusals_are_counted_by_hour(
    gateway, stranger, emptying, log, monkeypatch
):
    now = 1_700_000_000_000
    monkeypatch.setattr(hours, "now_ms", lambda: now)
    await emptying(gateway)
    two_hours_ago = now - 2 * HOUR_MS
    refused = {"outcome": "refused", "layer": "operation", "code": "OPERATION_NOT_ALLOWED"}
    await log(
        {"at": now - 30 * HOUR_MS},
        *({"at": two_hours_ago} for _ in range(3)),
        {"at": two_hours_ago, **refused},
        {"at": now, **refused},
    )
    await stranger.sign_in()
    page = await stranger.open("/console/charts")
    rows, bars = cells(page.text, "Calls by hour")

    assert len(rows) == bars == hours.HOURS
    assert rows[-3][1:] == ("4", "1")
    assert rows[-1][2] == "1"
    assert {row[1:] for row in rows[:-3]} == {("0", "0")}
    assert rows[-1][0] == timestamps.to_text(now)[11:13] + ":00"
    assert "No upstream was called." in page.text


async def test_an_empty_log_is_a_chart_of_nothing(gateway, emptying):
    await emptying(gateway)
    listed = await hours.counted(gateway.services.database)

    assert [(hour.calls, hour.refused) for hour in listed] == [(0, 0)] * hours.HOURS
    assert {bar.height for bar in charts.of_hours(listed).bars} == {0.0}


async def test_refusals_are_counted_up_to_a_bound(browser, log, monkeypatch):
    monkeypatch.setattr(hours, "MOST", 2)
    now = timestamps.now_ms()
    monkeypatch.setattr(hours, "now_ms", lambda: now)
    await log(*({"at": now, "outcome": "refused"} for _ in range(5)))
    rows, _ = cells((await browser.open("/console/charts")).text, "Calls by hour")

    assert rows[-1][2] == "2+"


async def test_a_page_of_charts_has_no_style_in_an_element_and_says_what_it_shows(browser):
    page = await browser.open("/console/charts")
    body = page.text.split("</head>")[1]

    assert "style=" not in body
    assert "<style" not in body
    assert "<desc>About " in body
    assert 'role="img" aria-labelledby="calls-by-hour"' in body


def event(connection, seconds):
    return CallEvent("PROVIDER_A", "GET", "200", 10.0, 10.0 + seconds, connection)


async def test_the_time_of_an_account_is_shown(browser, admin, gateway, operator, resource):
    new = {"resourceId": resource, "operatorId": operator, "kind": "email"}
    new |= {"provider": "PROVIDER_A", "accountEmail": '"<b>"@example.org'}
    number = (await admin.post("/api/connections", json=new)).json()["id"]
    times = gateway.services.base.account_times
    for each in (event(number, 1.5), event(number, 1.0), event(999, 0.5)):
        times.record(each)
    page = await browser.open("/console/charts")
    rows, bars = cells(page.text, "Upstream time by account")
    times._hours.clear()

    assert rows == [("&#34;&lt;b&gt;&#34;@example.org", "2.5", "2"), ("others", "0.5", "1")]
    assert bars == 2
    assert "Of this process alone, since" in page.text


async def test_times_are_bounded_and_of_one_day(monkeypatch):
    monkeypatch.setattr(account_times, "MOST_ACCOUNTS", 2)
    now = [1_700_000_000.0]
    times = AccountTimes(lambda: now[0])
    for connection in (1, 2, 3, 4, "token:1", None):
        times.record(event(connection, 1.0))
    assert [(each.id, each.calls) for each in times.slowest(9)] == [(0, 2), (1, 1), (2, 1)]
    assert times.since == 1_700_000_000_000
    now[0] += 23 * 3600
    times.record(event(7, 5.0))
    assert [each.id for each in times.slowest(1)] == [7]
    now[0] += 3600
    times.record(event(7, 5.0))
    assert [(each.id, each.seconds) for each in times.slowest(9)] == [(7, 10.0)]
    assert len(times._hours) == 2


async def test_what_is_left_of_a_quota_is_drawn_and_not_charged(
    browser, admin, settings, browser_of, new_token
):
    quota = {"quota": {"perMinute": 0, "perHour": 4, "perDay": 8}}
    token = (await admin.post("/api/access-tokens", json={**new_token, "settings": quota})).json()
    path = f"/console/tokens/{token['id']}"
    assert "Quota left" not in (await browser.open(path)).text  # nothing is counted here
    async with assemble(settings.model_copy(update={"rate_limits": "on"})).running() as counting:
        other = browser_of(counting)
        await other.sign_in()
        shown = cells((await other.open(path)).text, "Quota left")
        without_minute = {"settings": {"quota": {"perHour": 4, "perDay": 8}}}
        await admin.patch(f"/api/access-tokens/{token['id']}", json={"settings": {"quota": None}})
        await admin.patch(f"/api/access-tokens/{token['id']}", json=without_minute)
        headers = {"Authorization": f"Bearer {token['token']}"}
        for _ in range(3):
            await other.client.get("/api/access/email/messages", headers=headers)
        first, again = [cells((await other.open(path)).text, "Quota left") for _ in range(2)]

    number = token["id"]
    windows = (("a minute", "0", "0"), ("an hour", "4", "4"), ("a day", "8", "8"))
    assert shown[0] == [(f"Token {number}, {name}", left, of) for name, left, of in windows]
    assert first == again
    assert first[0] == [
        (f"Token {number}, an hour", "1", "4"),
        (f"Token {number}, a day", "5", "8"),
    ]
