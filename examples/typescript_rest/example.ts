/**
 * One round of list, read, send, create and upload with types generated from OpenAPI.
 *
 * usage: GATEWAY_URL=… GATEWAY_TOKEN=… node example.js NAME
 *
 * NAME becomes the subject, the item's name, the folder's name and the file's name.
 */
import createClient from "openapi-fetch";

import type { components, paths } from "./generated/rest.js";

const name = process.argv[2] ?? "example";
const client = createClient<paths>({
  baseUrl: process.env.GATEWAY_URL,
  headers: { Authorization: `Bearer ${process.env.GATEWAY_TOKEN}` },
});

/** The answer 202 of a token whose writes a person releases. */
type Held = { operation: unknown; state: unknown };

/** Return the data of a success; otherwise throw the gateway's reason, or that a person decides. */
function checked<T extends object>(answer: {
  data?: T;
  error?: components["schemas"]["ApiError"];
}): Exclude<T, Held> {
  const { data, error } = answer;
  if (data === undefined) throw new Error(error?.message);
  if ("state" in data && "operation" in data) throw new Error("a person decides about this write");
  return data as Exclude<T, Held>;
}

const page = checked(
  await client.GET("/api/access/email/messages", {
    params: { query: { q: "invoice", limit: 2 } },
  }),
);
console.log("listed", page.emails.length, "emails");

const email = checked(
  await client.GET("/api/access/email/messages/{emailId}", {
    params: { path: { emailId: page.emails[0].id } },
  }),
);
console.log("read", email.body ? "with a body" : "without a body");

const sent = checked(
  await client.POST("/api/access/email/messages/send", {
    // The key makes a repetition safe: the gateway sends once.
    params: { header: { "Idempotency-Key": `send-${name}` } },
    body: { to: [{ email: "guest@example.com" }], subject: name, body: "Hello." },
  }),
);
console.log("sent", sent.emailId);

const { boards } = checked(
  await client.GET("/api/access/tasks/boards", { params: { query: { q: "boat" } } }),
);
const created = checked(
  await client.POST("/api/access/tasks/boards/{boardId}/items", {
    params: { path: { boardId: boards[0].id } },
    body: { name },
  }),
);
console.log("created", created.itemId);

const { fileId: folderId } = checked(
  await client.POST("/api/access/collab/folders", { body: { name } }),
);
if (folderId === null) throw new Error("the folder has no id");
const uploaded = checked(
  await client.POST("/api/access/collab/files/upload", {
    params: { query: { folderId, fileName: `${name}.txt` } },
    headers: { "Content-Type": "application/octet-stream" },
    body: name,
    bodySerializer: (content) => content, // the bytes as they are, not as JSON
  }),
);
console.log("uploaded", uploaded.fileId);
