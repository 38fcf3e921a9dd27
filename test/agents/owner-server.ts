import { writeFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

/** A stdio MCP server that the owner of an agent configured for himself. Its one tool writes the file that the first argument names. */
const [, , file = ""] = process.argv;
const tool = { name: "leave_mark", description: "Writes a file.", inputSchema: { type: "object", properties: {} } };
const serverInfo = { name: "owner", version: "1" };
const results: Readonly<Record<string, (params: { protocolVersion?: string }) => object>> = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": () => {
    writeFileSync(file, "");
    return { content: [{ type: "text", text: "done" }] };
  },
};

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line) as { id?: unknown; method: string; params?: object }; // an agent's
  const result = results[method];
  if (id === undefined) continue;
  const answer = result ? { result: result(params ?? {}) } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
