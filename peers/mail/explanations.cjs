// Why a peer reads a member otherwise: by the form that was generated, where this project reads the
// value that was written, or by a rule that makes both readings equal.

const MAILBOXES = {
  "blanks at the sign": "blanks around @ stay (RFC 5322, 4.4)",
  "brackets twice": "of <<address>> a bracket becomes a name",
  "colon in a name": "a colon begins a group that no semicolon ends (RFC 5322, 3.4)",
  "comma in a name": "a part of an unquoted name is an entry (RFC 5322, 3.4: an entry has an address)",
  "comment in brackets": "a comment in brackets is a part of the address (RFC 5322, 3.2.2)",
  "comment left open": "an open parenthesis takes the address away",
  "escaped comment": "quoted pairs in comments stay (RFC 5322, 3.2.2)",
  "nested comment": "comments do not nest (RFC 5322, 3.2.2)",
  "mailbox in a word": "an encoded mailbox is a name without an address",
  "quotation mark left open": "an open quotation mark takes the address away",
  "quoted at": "the quotation marks of a local part are lost (RFC 5322, 3.4.1)",
  "quoted local part": "the quotation marks of a local part are lost (RFC 5322, 3.4.1)",
  route: "a route is a part of the address (RFC 5322, 4.4)",
  scheme: "mailto: is a part of the address",
  tab: "tabs between words stay (RFC 5322, 3.2.2: runs of blanks are one)",
};
// Member -> form -> what the peer does; the right value is the generated one, which this project reads.
const FORMS = {
  from: MAILBOXES,
  to: MAILBOXES,
  cc: MAILBOXES,
  "reply-to": MAILBOXES,
  subject: {
    "base64 cut within a sign": "base64 that is cut between words is decoded apart",
    "question mark in a Q word": "a question mark ends a word",
    "unknown charset": "a word of an unknown charset is decoded by another one (RFC 2047, 6.2)",
  },
  date: {
    "leap second": "a leap second is the second 0 of its own minute (RFC 5322, 3.3)",
    "no date": "a date of numbers alone is read (RFC 5322, 3.3: months have names)",
    "zone and name": "an offset with a name beside it makes no date",
  },
  references: {
    commas: "commas are parts of identifiers (RFC 5322, 3.6.4)",
    "no blanks": "identifiers without blanks between them are one (RFC 5322, 3.6.4: they are optional)",
  },
  body: {
    "blanks at the end of quoted lines": "blanks at the end of quoted lines stay (RFC 2045, 6.7, rule 3)",
    "blanks behind soft breaks": "a soft break with blanks behind it is no break (RFC 2045, 6.7, rule 3)",
    "comment behind the encoding": "an encoding with a comment is none (RFC 2045, 6.1)",
    "invalid type": "a part without a valid type is no text (RFC 2045, 5.2)",
    "type without a subtype": "a part without a valid type is no text (RFC 2045, 5.2)",
    "mark of UTF-8": "the mark of UTF-8 is a character (Encoding Standard, 6.1)",
    "UTF-16 with its mark": "line ends of UTF-16 are sought by bytes",
    "charset of a meta element": "a meta element names no charset (HTML, 13.2.3.2)",
    "unknown charset": "an unknown charset is Windows-1252",
    "no boundary": "a multipart without a boundary is a text",
  },
  files: {
    "encoded in part": "pieces that are not encoded are decoded (RFC 2231, 4.1)",
    "invalid type": "a part without a valid type is an attachment (RFC 2045, 5.2)",
    "type without a subtype": "a part without a valid type is an attachment (RFC 2045, 5.2)",
  },
};

const words = (text) => text.replace(/\s+/g, " ").trim();
const ascii = (value) => JSON.stringify(value).replace(/[^ -~]+/g, "");
const same = (first, second) => JSON.stringify(first) === JSON.stringify(second);
const STATUS = /message\/delivery-status/i;
const isText = (type) => /^(text|message)\//.test(type);

// Rules: what a peer does, and both readings without it. They are tried one after another.
const RULES = {
  body: {
    "texts are joined with other blanks between them": (ours, theirs) => [words(ours), words(theirs)],
    "a delivery status is a text (RFC 3464, 2: it is for programs)": (ours, theirs, { peer, raw }) => {
      if (peer !== "mailparser" || !STATUS.test(raw)) return [ours, theirs];
      return [ours, words(theirs.replace(/ ?Reporting-MTA:.*?Status: 5.1.1/g, ""))];
    },
  },
  files: {
    "a delivery status is no attachment": (ours, theirs, { peer }) =>
      peer === "mailparser" ? [ours.filter(([, type]) => !STATUS.test(type)), theirs] : [ours, theirs],
    "the type is that of the name (RFC 2046, 4.5.1)": (ours, theirs, { peer }) => {
      const isOfName = (file, at) => peer === "mailparser" && file[1] === "application/octet-stream" && theirs[at];
      return [ours.map((file, at) => (isOfName(file, at) ? file.with(1, theirs[at][1]) : file)), theirs];
    },
    "lines of texts end with LF (RFC 2046, 4.1.1: the canonical form has CRLF)": (ours, theirs, { peer }) => {
      const isChanged = (file, at) => peer === "postal-mime" && isText(file[1]) && theirs[at];
      return [ours.map((file, at) => (isChanged(file, at) ? file.with(2, theirs[at][2]) : file)), theirs];
    },
  },
};

// Labels that Node's TextDecoder reads otherwise than the Encoding Standard, by which both decode:
// windows-1252 is ISO-8859-1, and euc-kr lacks what Windows-949 adds.
function isOfNode(ours, theirs) {
  const text = JSON.stringify(theirs);
  const read = [text, text.replace(/\x8cc/g, "")];
  return /[\x80-\x9f]/.test(text) && read.some((one) => ascii(ours) === ascii(JSON.parse(one)));
}

function byForm({ member, message, isRight }) {
  if (!isRight) return undefined;
  const forms = message.forms[member === "body" ? "texts" : member] ?? [];
  if (/^split /.test(forms[0])) return "a character that is split between words is lost";
  if (member === "body" && forms.some((form) => /^UTF-8 under /.test(form))) return "UTF-8 under another label is decoded by the label";
  if (member === "body" && forms.includes("flowed")) return "flowed lines are joined (RFC 3676), which this project leaves to its clients";
  return FORMS[member]?.[forms.find((form) => FORMS[member][form.replace(/^name: /, "")])?.replace(/^name: /, "")];
}

// Real messages: sample -> member -> what the peers do.
const NO_COMMA = "a part of an unquoted name is an entry (RFC 5322, 3.4: an entry has an address)";
const PARENTHESIS = "an open parenthesis takes the address away";
const SPLIT_BOUNDARY = "one boundary on two levels (RFC 2046, 5.1.2 forbids it)";
const DIGEST = "parts of a digest are texts (RFC 2046, 5.1.5: they are messages)";
const NO_TYPE = "a part without a valid type is an attachment (RFC 2045, 5.2: it is a text)";
const NAMED = "a text with a name is the body alone (docs/spec/email.md, parts: an attachment too)";
const REPORT = "a delivery status is a text (RFC 3464, 2: it is for programs)";
const NO_LINE = "a line that is no field, where the empty line is missing, is dropped (here it begins the text)";
const UTF8 = "UTF-8 under another label is decoded by the label";
const LINE_END = "the line end before a boundary belongs to the part (RFC 2046, 5.1.1: to the boundary)";
const OTHER_TEXT = "a text of another type, such as text/text, is no body where there is no other";
const FOLDED = "a tab at which a line is folded is a blank (RFC 5322, 2.2.3)";
const NO_ID = "what is not in angle brackets is an identifier (RFC 5322, 3.6.4)";
const FILE_TYPE = "a file without a type is application/octet-stream (RFC 2045, 5.2: text/plain)";
const START = "the root of related parts is not the one that start names (RFC 2387, 3.2)";
const SAMPLES = {
  "ad-comma": { mailboxes: NO_COMMA },
  "ad-comma-to": { mailboxes: NO_COMMA },
  "r-comma": { mailboxes: NO_COMMA },
  "ad-paren-full": { mailboxes: PARENTHESIS },
  "ad-encaddr": { mailboxes: "an encoded mailbox is a name without an address" },
  "ew-split": { subject: "a character that is split between words is lost" },
  "ew-unknown-one": { subject: "a word of an unknown charset is decoded by another one (RFC 2047, 6.2)" },
  "dt-06": { date: "a leap second is the second 0 of its own minute (RFC 5322, 3.3)" },
  "cs-jis-nocharset": { body: "ISO-2022-JP without a label stays as it is" },
  "cs-meta": { body: "a meta element names no charset (HTML, 13.2.3.2)" },
  "cs-nosemi": { body: "a charset without a semicolon before it makes the part no text" },
  "cs-utf8-quotes": { body: "apostrophes around a charset belong to it" },
  "cs-latin1-utf8": { body: "UTF-8 under another label is decoded by the label" },
  "cs-ascii-utf8": { body: "UTF-8 under another label is decoded by the label" },
  "mm-calendar-alt": { body: "a text whose alternative is a calendar is left out of HTML" },
  "f-cal": { body: "a text whose alternative is a calendar is left out of HTML" },
  "mm-flowed": { body: "flowed lines are joined (RFC 3676), which this project leaves to its clients" },
  "mm-utf16": { body: "line ends of UTF-16 are sought by bytes" },
  "mm-names": { files: "a backslash before a letter is left out of a name, as of paths of Windows" },
  "mm-uu-file": { files: "uuencoded parts are not decoded" },
  "mm-named-only": { files: NAMED },
  msg_02: { body: DIGEST, files: DIGEST },
  msg_04: { body: NAMED, files: NAMED },
  msg_11: { files: "a message within a message is listed in its place" },
  msg_14: { body: NO_TYPE, files: NO_TYPE },
  msg_15: { body: SPLIT_BOUNDARY, files: SPLIT_BOUNDARY },
  msg_16: { body: REPORT },
  msg_19: { body: NO_LINE },
  msg_27: { subject: "a tab at which a line is folded is a blank (RFC 5322, 2.2.3)" },
  msg_30: { body: DIGEST, files: DIGEST },
  msg_34: { body: DIGEST, files: DIGEST },
  msg_35: { body: NO_LINE, files: NO_LINE },
  msg_37: { body: NO_LINE },
  msg_38: { body: SPLIT_BOUNDARY, files: SPLIT_BOUNDARY },
  msg_39: { body: SPLIT_BOUNDARY, files: SPLIT_BOUNDARY },
  msg_40: { body: "a text/html with a boundary is a multipart (RFC 2046, 5.1.1)" },
  msg_43: { body: REPORT },
  msg_44: { body: NAMED, files: NAMED },
  msg_47: { body: NO_LINE },
  // Messages of CPython's test modules, by the beginning of their digest.
  "test_contentmanager 7f1a19": { body: NO_TYPE, files: NO_TYPE },
  "test_contentmanager f01461": { body: UTF8 },
  "test_contentmanager bab0c3": { files: LINE_END },
  "test_contentmanager 839c3c": { files: LINE_END },
  "test_defect_handling 538773": { body: SPLIT_BOUNDARY },
  "test_email cf5b9d": { subject: "the bytes of unknown-8bit are decoded by another charset than UTF-8" },
  "test_email 8b5bc0": { body: UTF8 },
  "test_email ff14b8": { subject: FOLDED },
  "test_email 0a8587": { subject: FOLDED },
  "test_email e872e4": { references: NO_ID },
  "test_email 1269fc": { references: NO_ID },
  "test_email d59f6e": { body: "a text/html with a boundary is a multipart (RFC 2046, 5.1.1)" },
  "test_email b42422": { body: DIGEST, files: DIGEST },
  "test_email 26d6c4": { body: UTF8 },
  "test_email c3490e": { body: OTHER_TEXT },
  "test_email c52286": { body: OTHER_TEXT },
  "test_email 95a802": { body: UTF8 },
  "test_generator 95a802": { body: UTF8 },
  "test_generator 15dafc": { files: FILE_TYPE },
  "test_generator 3c0b54": { files: FILE_TYPE },
  "test_generator 2aa075": { files: FILE_TYPE },
  "test_inversion 39554f": { date: "a date that is none is the time of reading" },
  "test_message bc42ae": { mailboxes: "a name that is the address is none" },
  "test_message 04f214": { files: LINE_END },
  "test_message c6932d": { files: LINE_END },
  "test_message e03d41": { files: LINE_END },
  "test_message f1d49f": { files: LINE_END },
  "test_message 6ea127": { files: LINE_END },
  "test_message 08eb63": { body: START, files: START },
  msg_45: { files: "lines of texts end with LF (RFC 2046, 4.1.1: the canonical form has CRLF)" },
};
const CUT = /\n--[^\n]*$|(?:\n\r?\n|\n--[^\n]*\n|^)(?:(?:[!-9;-~]+[ \t]*:|[ \t])[^\n]*\n)*(?:[ \t][^\n]*|[!-9;-~]*(?::[^\n]*)?)$/;

function bySample({ member, message, raw }) {
  const [change, ...names] = [...(message.forms.all ?? [])].reverse();
  const of = ["from", "to", "cc", "reply-to"].includes(member) ? "mailboxes" : member;
  const name = names.find((one) => SAMPLES[one]?.[of]);
  if (name) return SAMPLES[name][of];
  return change === "cut" && CUT.test(raw) ? "the message is cut within the fields of a part" : undefined;
}

function explanation(difference) {
  const { member, peer } = difference;
  let [ours, theirs] = [difference.ours, difference.theirs];
  const told = [];
  for (const [name, rule] of Object.entries(RULES[member] ?? {})) {
    const before = JSON.stringify([ours, theirs]);
    [ours, theirs] = rule(ours, theirs, difference);
    if (JSON.stringify([ours, theirs]) !== before) told.push(name);
    if (same(ours, theirs)) return told.join("; ");
  }
  if (peer === "postal-mime" && isOfNode(ours, theirs)) return "C1 characters of Node's decoder (Encoding Standard: windows-1252, euc-kr)";
  return byForm(difference) ?? bySample(difference);
}

module.exports = { explanation, words };
