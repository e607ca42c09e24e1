// Check the sandbox's Gmail and Google Calendar with Google's own client: `node check.cjs '{"url": …}'`.
// It needs what is served; `users.watch`, `history.list` and `events.watch` are not, and stay out.
const assert = require("node:assert/strict");
const { auth: mailAuth, gmail: openGmail } = require("@googleapis/gmail");
const { calendar: openCalendar } = require("@googleapis/calendar");

const { url, token, calendar: calendarToken, metadata, meetings } = JSON.parse(process.argv[2]);
const rootUrl = `${url}/provider-a/`;
const userId = "me";

function signedIn(accessToken) {
  const auth = new mailAuth.OAuth2();
  auth.setCredentials({ access_token: accessToken });
  return auth;
}

// Of an address given for a whole client only the origin is used; one given with a call has a path.
function located(api) {
  return new Proxy(Object.create(null), {
    get(_, name) {
      const member = api[name];
      if (typeof member === "function") return (params) => member.call(api, params, { rootUrl });
      return member !== null && typeof member === "object" ? located(member) : member;
    },
  });
}

function gmail(accessToken) {
  return located(openGmail({ version: "v1", auth: signedIn(accessToken) })).users;
}

async function refused(call, status, reason) {
  await assert.rejects(call, (problem) => {
    assert.equal(problem.response?.status ?? problem.status, status, String(problem));
    assert.equal(problem.response.data.error.errors[0].reason, reason);
    return true;
  });
}

function raw(subject, text) {
  const lines = ["To: ann@x.test", `Subject: ${subject}`, "Content-Type: text/plain; charset=utf-8"];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`).toString("base64url");
}

async function reading(users) {
  const { data: profile } = await users.getProfile({ userId });
  assert.equal(profile.emailAddress, "me@a.test");
  const ids = [];
  let pageToken;
  do {
    const { data } = await users.messages.list({ userId, maxResults: 10, pageToken });
    ids.push(...data.messages.map((message) => message.id));
    pageToken = data.nextPageToken;
  } while (pageToken);
  assert.deepEqual([ids.length, new Set(ids).size], [25, 25]);
  const { data: hits } = await users.messages.list({ userId, q: "rfc822msgid:11@b.test" });
  const { data: message } = await users.messages.get({ userId, id: hits.messages[0].id });
  const subject = message.payload.headers.find((header) => header.name === "Subject");
  assert.match(subject.value, /Lease 11/);
  const part = message.payload.parts.find((candidate) => candidate.filename);
  const { data: file } = await users.messages.attachments.get({
    userId,
    messageId: message.id,
    id: part.body.attachmentId,
  });
  assert.equal(Buffer.from(file.data, "base64url").toString(), "%PDF".repeat(100));
  const { data: thread } = await users.threads.get({ userId, id: message.threadId });
  assert.equal(thread.messages.length, 1);
  const { data: labels } = await users.labels.list({ userId });
  assert.ok(labels.labels.some((label) => label.name === "Clients/Big One"));
}

async function writing(users) {
  const { data: draft } = await users.drafts.create({
    userId,
    requestBody: { message: { raw: raw("From Node", "Grüße") } },
  });
  const { data: sent } = await users.drafts.send({ userId, requestBody: { id: draft.id } });
  assert.ok(sent.labelIds.includes("SENT"));
  await refused(() => users.drafts.get({ userId, id: draft.id }), 404, "notFound");
  const { data: direct } = await users.messages.send({
    userId,
    requestBody: { raw: raw("Direct", "Hello") },
  });
  const { data: starred } = await users.messages.modify({
    userId,
    id: direct.id,
    requestBody: { addLabelIds: ["STARRED"] },
  });
  assert.ok(starred.labelIds.includes("STARRED"));
  const { data: gone } = await users.messages.trash({ userId, id: direct.id });
  assert.ok(gone.labelIds.includes("TRASH"));
  const { data: back } = await users.messages.untrash({ userId, id: direct.id });
  assert.ok(!back.labelIds.includes("TRASH"));
  const { data: label } = await users.labels.create({ userId, requestBody: { name: "Node" } });
  await users.labels.delete({ userId, id: label.id });
}

async function meeting() {
  const api = located(openCalendar({ version: "v3", auth: signedIn(calendarToken) }));
  const { data: listed } = await api.calendarList.list({ minAccessRole: "reader" });
  assert.deepEqual(
    listed.items.map((entry) => entry.primary ?? false),
    [true, false, false],
  );
  const range = { timeMin: meetings.since, timeMax: meetings.until, singleEvents: true };
  const events = [];
  let pageToken;
  do {
    const { data } = await api.events.list({
      calendarId: "primary",
      orderBy: "startTime",
      maxResults: 9,
      pageToken,
      ...range,
    });
    events.push(...data.items);
    pageToken = data.nextPageToken;
  } while (pageToken);
  const titles = new Set(events.map((event) => event.summary));
  for (const [title] of meetings.planned) assert.ok(titles.has(title), title);

  const times = {
    start: { dateTime: "2026-04-27T01:00:00Z" },
    end: { dateTime: "2026-04-27T02:00:00Z" },
  };
  const { data: made } = await api.events.insert({
    calendarId: "primary",
    requestBody: { summary: "Night ✓", ...times },
  });
  const { data: patched } = await api.events.patch({
    calendarId: "primary",
    eventId: made.id,
    requestBody: { location: "Quay 4" },
  });
  assert.deepEqual([patched.summary, patched.location], ["Night ✓", "Quay 4"]);
  const { data: taken } = await api.freebusy.query({
    requestBody: {
      timeMin: "2026-04-27T00:00:00Z",
      timeMax: "2026-04-27T03:00:00Z",
      items: [{ id: "me@a.test" }, { id: "nobody@a.test" }],
    },
  });
  assert.equal(taken.calendars["nobody@a.test"].errors[0].reason, "notFound");
  const [start, end] = [times.start, times.end].map((time) => Date.parse(time.dateTime));
  const { busy } = taken.calendars["me@a.test"];
  assert.ok(busy.some((span) => Date.parse(span.start) <= start && end <= Date.parse(span.end)));
  await api.events.delete({ calendarId: "primary", eventId: made.id });
  await refused(
    () => api.events.get({ calendarId: "nobody@a.test", eventId: made.id }),
    404,
    "notFound",
  );
}

async function main() {
  const users = gmail(token);
  await reading(users);
  await writing(users);
  await refused(() => users.messages.get({ userId, id: "123" }), 404, "notFound");
  await refused(
    () => gmail(metadata).messages.send({ userId, requestBody: { raw: raw("No", "no") } }),
    403,
    "insufficientPermissions",
  );
  await refused(() => gmail("nonsense").getProfile({ userId }), 401, "authError");
  await meeting();
  console.log("the vendor's Node client agrees");
}

main().catch((problem) => {
  console.error(problem);
  process.exit(1);
});
