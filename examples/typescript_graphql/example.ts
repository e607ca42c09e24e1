/**
 * One round of list, read, send, create and upload with documents typed from the SDL.
 *
 * usage: GATEWAY_URL=… GATEWAY_TOKEN=… node example.js NAME
 *
 * NAME becomes the subject, the item's name, the folder's name and the file's name.
 */
import { graphql } from "./generated/gql.js";
import type { TypedDocumentString } from "./generated/graphql.js";

const name = process.argv[2] ?? "example";

/** Run a document; throw the gateway's reason if a field was refused or failed. */
async function run<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  headers: Record<string, string> = {},
): Promise<Data> {
  const response = await fetch(`${process.env.GATEWAY_URL}/graphql`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${process.env.GATEWAY_TOKEN}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ query: document.toString(), variables }),
  });
  const { data, errors } = (await response.json()) as {
    data: Data;
    errors?: { message: string }[];
  };
  if (errors !== undefined) throw new Error(errors[0].message);
  return data;
}

/** Return *value*, which is null only in an answer with errors. */
function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("a field is null without an error");
  return value;
}

const matching = await run(
  graphql(`
    query FindEmails($text: String!) {
      emails(q: $text, limit: 2) { emails { id subject } nextPageToken }
    }
  `),
  { text: "invoice" },
);
const { emails } = present(matching.emails);
console.log("listed", emails.length, "emails");

const read = await run(
  graphql(`
    query ReadEmail($emailId: String!) {
      email(emailId: $emailId) { subject body receivedAt from { email name } }
    }
  `),
  { emailId: emails[0].id },
);
console.log("read", present(read.email).body ? "with a body" : "without a body");

const sent = await run(
  graphql(`
    mutation SendEmail($input: SendEmailInput!) {
      sendEmail(input: $input) { success emailId }
    }
  `),
  { input: { to: [{ email: "guest@example.com" }], subject: name, body: "Hello." } },
  // The key makes a repetition safe: the gateway sends once.
  { "Idempotency-Key": `send-${name}` },
);
console.log("sent", present(sent.sendEmail).emailId);

const board = await run(
  graphql(`
    query FindBoards($text: String!) {
      taskBoards(q: $text, limit: 1) { boards { id name } }
    }
  `),
  { text: "boat" },
);
const created = await run(
  graphql(`
    mutation CreateTaskItem($boardId: String!, $input: CreateTaskItemInput!) {
      createTaskItem(boardId: $boardId, input: $input) { success itemId }
    }
  `),
  { boardId: present(board.taskBoards).boards[0].id, input: { name } },
);
console.log("created", present(created.createTaskItem).itemId);

const folder = await run(
  graphql(`
    mutation CreateFolder($input: CreateDriveFolderInput!) {
      createFolder(input: $input) { success fileId }
    }
  `),
  { input: { name } },
);
const uploaded = await run(
  graphql(`
    mutation UploadFile($folderId: String!, $fileName: String!, $content: FileContent!) {
      uploadFile(folderId: $folderId, fileName: $fileName, input: $content) { success fileId }
    }
  `),
  {
    folderId: present(present(folder.createFolder).fileId),
    fileName: `${name}.txt`,
    content: Buffer.from(name).toString("base64"),
  },
);
console.log("uploaded", present(uploaded.uploadFile).fileId);
