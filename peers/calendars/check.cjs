// Expands the calendars of standard input by ical.js, and their rules by rrule, and compares.

const ICAL = require("ical.js").default ?? require("ical.js");
const { rrulestr } = require("rrule");

const DAY = 86400;
const calendars = JSON.parse(require("fs").readFileSync(0, "utf8"));

function seconds(time) {
  if (time.isDate || time.zone === ICAL.Timezone.localTimezone) {
    return Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second) / 1000;
  }
  return time.toUnixTime();
}

function byIcalJs({ text, range }) {
  const calendar = new ICAL.Component(ICAL.parse(text));
  for (const zone of calendar.getAllSubcomponents("vtimezone")) ICAL.TimezoneService.register(zone);
  const events = calendar.getAllSubcomponents("vevent").map((part) => new ICAL.Event(part));
  const master = events.find((event) => !event.isRecurrenceException());
  for (const event of events) if (event !== master) master.relateException(event);
  const listed = [];
  const add = (start, end, title) => {
    const times = [seconds(start), Math.max(seconds(end), seconds(start))];
    if (times[0] < range[1] && (times[1] > range[0] || times[0] >= range[0])) listed.push([...times, title]);
  };
  if (!master.isRecurring()) {
    add(master.startDate, master.endDate, master.summary);
    return listed;
  }
  const iterator = master.iterator();
  for (let next = iterator.next(); next; next = iterator.next()) {
    if (next instanceof ICAL.Period) {
      add(next.start, next.getEnd(), master.summary); // which ical.js leaves to its caller
      continue;
    }
    if (seconds(next) > range[1] + 10 * DAY) break;
    const { startDate, endDate, item } = master.getOccurrenceDetails(next);
    add(startDate, endDate, item.summary);
  }
  return listed;
}

function byRrule({ text, range }) {
  const [, form, time] = /DTSTART([^:]*):(\S+)(?=(?:(?!END:VEVENT)[^])*RRULE)/.exec(text);
  const rule = /RRULE:(\S+)/.exec(text)[1];
  const start = time.length === 8 ? `${time}T000000Z` : `${time.replace("Z", "")}Z`;
  const set = rrulestr(`DTSTART:${start}\nRRULE:${rule}`);
  return set.between(new Date(range[0] * 1000), new Date(range[1] * 1000 - 1), true).map((date) => date / 1000);
}

// Where they differ from RFC 5545, 3.3.10 (the positions are those of a whole week; the weekday of
// BYWEEKNO alone is that of DTSTART), and what it leaves open.
const KNOWN = {
  "positions in the first week": ({ rule }) => rule.includes("WEEKLY") && rule.includes("BYSETPOS"),
  "weeks of the year": ({ rule }) => rule.includes("BYWEEKNO"),
  "a DTSTART that its rule does not give": ({ synchronised }) => !synchronised,
  "months between those of the interval": ({ rule }) => /MONTHLY;INTERVAL.*BYMONTH=/.test(rule),
  "a period beside an occurrence of the same start": ({ events, text }, read) => {
    const starts = events.map((event) => event[0]);
    return text.includes("PERIOD") && read.every((event) => starts.includes(event[0]));
  },
  "overrides of what is no occurrence": ({ events }, read) => {
    const keys = new Set(read.map(String));
    const missing = events.filter((event) => !keys.has(String(event)));
    const onlyOverrides = missing.every((event) => event[2].startsWith("override"));
    return onlyOverrides && read.length + missing.length === events.length;
  },
};

const same = (first, second) => JSON.stringify(first.sort()) === JSON.stringify(second.sort());
const counts = {};
const shown = {};
let open = 0;
function differ(peer, calendar, read) {
  const known = Object.keys(KNOWN).find((name) => KNOWN[name](calendar, read));
  const parts = calendar.rule.replace(/=[^;]*/g, (value, at) => (at === 4 ? value : ""));
  const name = `${peer}: ${known ?? `open, ${parts}`}`;
  counts[name] = (counts[name] ?? 0) + 1;
  if (known) return;
  open += 1;
  if (shown[name]) return;
  shown[name] = true;
  const [ours, theirs] = [calendar.events, read].map((events) => events.map(String));
  const only = (these, those) => these.filter((event) => !those.includes(event)).slice(0, 5);
  console.log(name, calendar.text, calendar.range, only(ours, theirs), only(theirs, ours));
}

let rules = 0;
for (const calendar of calendars) {
  let read;
  try {
    read = byIcalJs(calendar);
  } catch (error) {
    counts[`ical.js: ${error.message}`] = (counts[`ical.js: ${error.message}`] ?? 0) + 1;
    read = calendar.events; // it refuses the rule
  }
  read = [...new Map(read.map((event) => [String(event), event])).values()]; // it repeats some dates of RDATE
  if (!same(read, calendar.events)) differ("ical.js", calendar, read);
  const isPlain = !/RDATE|EXDATE|RECURRENCE-ID|TZID/.test(calendar.text);
  if (calendar.rule && isPlain) {
    rules += 1;
    const first = calendar.events.map((event) => event[0]).filter((start) => start >= calendar.range[0]);
    const starts = byRrule(calendar);
    if (!same(starts, first)) differ("rrule", { ...calendar, events: first }, starts);
  }
}
console.log(`ical.js read ${calendars.length} calendars, rrule ${rules} rules; open differences: ${open}`);
for (const [name, count] of Object.entries(counts)) console.log(`${count} ${name}`);
process.exitCode = open ? 1 : 0;
