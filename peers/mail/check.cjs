// Reads the messages of standard input by mailparser and postal-mime, and compares each member.

const crypto = require("crypto");
const url = require("url");
const he = require("he"); // of mailparser
const { simpleParser } = require("mailparser");
const PostalMime = require("postal-mime").default ?? require("postal-mime");
const { explanation, words } = require("./explanations.cjs");

const PARSED = { skipHtmlToText: true, skipTextLinks: true, skipImageLinks: true };
const STANDARD_NAMES = new Set(["attachment", "message.eml", "invite.ics"]);
const VISUAL = /^(image|audio|video)\//;

const shown = (html) =>
  words(he.decode((html ?? "").replace(/<(style|title)\b[^]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ")));
const digest = (content) => {
  const bytes = Buffer.from(content ?? []);
  return `${bytes.length}:${crypto.createHash("sha1").update(bytes).digest("hex").slice(0, 12)}`;
};
const seconds = (date) => (date && !Number.isNaN(+date) ? +date / 1000 : null);

function file(name, type, content, disposition, id) {
  const kind = (type ?? "").toLowerCase();
  const contentId = (id ?? "").trim().replace(/^<|>$/g, "");
  const isShown = disposition === "inline" || (!disposition && contentId !== "");
  return [STANDARD_NAMES.has(name) ? null : name || null, kind, digest(content), VISUAL.test(kind) && isShown, contentId];
}

const mailboxes = (entries) => (entries ?? [])
  .flatMap((entry) => entry.group ?? [entry])
  .map(({ address, name }) => [withUnicode(address ?? ""), name || null])
  .filter(([address]) => address.includes("@")); // both list names without an address (RFC 5322, 3.4)

// mailparser decodes domains; all are compared decoded.
function withUnicode(address) {
  const at = address.lastIndexOf("@") + 1;
  return address.slice(0, at) + (url.domainToUnicode(address.slice(at)) || address.slice(at));
}

async function byPostalMime(raw) {
  const mail = await PostalMime.parse(raw, { forceRfc822Attachments: true });
  return {
    from: mailboxes(mail.from && [mail.from]),
    to: mailboxes(mail.to),
    cc: mailboxes(mail.cc),
    "reply-to": mailboxes(mail.replyTo),
    subject: mail.subject ?? "",
    date: seconds(mail.date && new Date(mail.date)),
    references: (mail.references ?? "").match(/<[^<>]+>/g)?.map((id) => id.slice(1, -1)) ?? [],
    text: mail.text,
    html: mail.html,
    files: mail.attachments.map((one) =>
      file(one.filename, one.mimeType, one.content, one.disposition, one.contentId)),
  };
}

async function byMailparser(raw) {
  const mail = await simpleParser(raw, PARSED);
  const people = (entries) => mailboxes((Array.isArray(entries) ? entries : entries ? [entries] : [])
    .flatMap((one) => one.value));
  const references = mail.references ?? [];
  return {
    from: people(mail.from),
    to: people(mail.to),
    cc: people(mail.cc),
    "reply-to": people(mail.replyTo),
    subject: mail.subject ?? "",
    date: seconds(mail.date),
    references: (Array.isArray(references) ? references : [references]).map((id) => id.replace(/^<|>$/g, "")),
    text: mail.text,
    html: mail.html || undefined,
    files: mail.attachments.map((one) =>
      file(one.filename, one.contentType, one.content, one.contentDisposition, one.contentId)),
  };
}

// The body of one text is compared to the letter, but for its last line end; that of several by its words.
function body(reading, type) {
  if (type === "html") return shown(reading.html ?? reading.text);
  return reading.html === undefined ? (reading.text ?? "").replace(/\r\n/g, "\n").trimEnd() : shown(reading.html);
}

const same = (first, second) => JSON.stringify(first) === JSON.stringify(second);

// What was written, as `compare` compares it.
function generated(values, member) {
  if (member === "from") return values.from.slice(0, 1);
  if (member === "date") return values.date;
  if (member !== "body") return values[member] ?? [];
  const isHtml = values.texts.some(([type]) => type === "text/html");
  const texts = values.texts.map(([type, text]) => (type === "text/html" ? shown(text) : text.replace(/\r\n/g, "\n")));
  return isHtml ? words(texts.join(" ")) : texts.map((text, at) => (at + 1 < texts.length && !text.endsWith("\n") ? `${text}\n` : text)).join("").trimEnd();
}

const PEERS = { mailparser: byMailparser, "postal-mime": byPostalMime };
const MEMBERS = ["from", "to", "cc", "reply-to", "subject", "date", "references", "body", "files"];
const counts = {};
const examples = {};
let read = 0;
let compared = 0;
let open = 0;

function count(name) {
  counts[name] = (counts[name] ?? 0) + 1;
}

async function compare(line) {
  const message = JSON.parse(line);
  const raw = Buffer.from(message.raw, "base64");
  read += 1;
  for (const name of ["from", "to", "cc", "reply-to"]) {
    for (const mailbox of [...message.ours[name], ...(message.values?.[name] ?? [])]) mailbox[0] = withUnicode(mailbox[0]);
  }
  const ours = { ...message.ours, body: body({ [message.ours.type]: message.ours.body }, message.ours.type) };
  ours.from = ours.from.slice(0, 1);
  for (const [peer, parse] of Object.entries(PEERS)) {
    let theirs;
    try {
      theirs = await parse(raw);
    } catch (error) {
      count(`${peer}: refuses the message: ${error.message}`);
      continue;
    }
    theirs.body = body(theirs, ours.type);
    theirs.from = theirs.from.slice(0, 1);
    for (const member of MEMBERS) {
      compared += 1;
      const [first, second] = [ours[member], theirs[member]].map((value) => JSON.stringify(value));
      if (first === second) continue;
      const isRight = message.values && same(ours[member], generated(message.values, member));
      const difference = { peer, member, message, raw: raw.toString("latin1"), isRight, ours: ours[member], theirs: theirs[member] };
      const known = explanation(difference);
      const forms = message.forms[member === "body" ? "texts" : member] ?? message.forms.all ?? [];
      const name = `${peer}, ${member}: ${known ?? `open, ${forms.join(", ")}`}`;
      count(name);
      if (known) continue;
      open += 1;
      (examples[name] ??= []).push({ number: message.number, ours: first.slice(0, 400), theirs: second.slice(0, 400) });
    }
  }
}

async function main() {
  let rest = "";
  process.stdin.setEncoding("latin1"); // the lines are ASCII
  for await (const piece of process.stdin) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) await compare(line);
  }
  for (const [name, [example]] of Object.entries(examples).slice(0, Number(process.env.MAIL_EXAMPLES ?? 10))) {
    console.log(name, example);
  }
  const rows = Object.entries(counts).filter(([name]) => !name.includes(": open, "));
  for (const [name, number] of rows.sort()) console.log(`${number} ${name}`);
  console.log(`${read} messages, ${compared} members compared; open differences: ${open}`);
  process.exitCode = open || !read ? 1 : 0;
}

main();
