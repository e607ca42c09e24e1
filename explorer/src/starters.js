// The tabs a newcomer finds. Each one runs as it stands on the demo world, with the `full` token.
const documents = [
  `# Start here: the newest mail of every connected mailbox, merged.
query Inbox {
  emails(limit: 5) {
    emails { id provider receivedAt subject from { email name } isRead labels }
    totalCount
    hasMore
    nextPageToken
    authWarnings
  }
}
`,
  `# Search. Try another token (reader, masked) and compare: what it may not see is null.
query Search {
  emails(q: "invoice", hasAttachment: true, limit: 3, includeBody: true) {
    emails {
      subject
      to { email }
      bodyPreview
      body
      attachments { name contentType size isInline }
    }
    accessInfo
  }
}
`,
  `# What may this token do, and which accounts does it reach?
query Token {
  accessToken {
    name
    expiresAt
    effectiveEmailOperations
    effectiveTaskOperations
    effectiveCollabOperations
    connections { id kind provider accountEmail status }
  }
}
`,
  `# Writing works too: this sends a mail inside the demo world and nowhere else.
mutation Send {
  sendEmail(input: {
    to: [{ email: "guest@elsewhere.example", name: "A guest" }]
    subject: "Hello from the explorer"
    body: "<p>Sent by a GraphQL mutation.</p>"
  }) { success emailId threadId }
}
`,
];

export const starters = documents.map((query) => ({ query }));
