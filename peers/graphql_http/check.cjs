// Runs the audits of GraphQL over HTTP; prints the ids of those that fail as a JSON list.
const { serverAudits } = require("graphql-http");

const [url, token] = process.argv.slice(2);

function fetchFn(address, options = {}) {
  const headers = { authorization: `Bearer ${token}`, ...options.headers };
  return fetch(address, { ...options, headers });
}

async function main() {
  const audits = serverAudits({ url, fetchFn });
  const failed = [];
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status !== "ok") {
      failed.push(result.id);
      console.error(`${result.id} ${result.name}: ${result.reason}`);
    }
  }
  console.log(JSON.stringify({ audits: audits.length, failed }));
}

main();
