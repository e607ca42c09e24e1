// Lists and calls tools with the TypeScript client; prints the names and the answer as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1" });
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: "find_mail", arguments: { limit: 1 } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), text: result.content[0].text }));
await client.close();
