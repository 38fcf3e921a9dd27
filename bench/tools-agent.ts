import process from "node:process";
import { McpClient } from "../simulator/parts.ts";

/*
 * An ACP agent that calls the client's tool `step` so many times as its first argument says, one by one, and then reports. Its second
 * argument is `native`, or `prose` for an agent that starts no MCP server. A call holds the time at which it was made, epoch ms.
 */

const rounds = Number(process.argv[2]);
const startsServers = process.argv[3] === "native";
const servers: McpClient[] = [];
const toAgentMs: number[] = [];
let prompts = 0;
let bytes = 0;
let half = "";

const now = () => performance.timeOrigin + performance.now();
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** The last time in these results is that at which the client sent them. */
function took(results: string): void {
  const at = [...results.matchAll(/sent=([\d.]+)/g)].at(-1)?.[1];
  if (at !== undefined) toAgentMs.push(now() - Number(at));
}

async function prompted(id: unknown, sessionId: string, text: string): Promise<void> {
  prompts++;
  const update = (update: object) => send({ method: "session/update", params: { sessionId, update } });
  const say = (said: string) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: said } });
  const server = servers.at(-1);
  if (server === undefined) took(text);
  else
    while (toAgentMs.length < rounds) {
      const toolCallId = `call-${toAgentMs.length}`;
      update({ sessionUpdate: "tool_call", toolCallId, title: "millrace_step", kind: "other", status: "pending" });
      const result = await server.call("step", { at: now() }, new AbortController().signal);
      took(result);
      bytes += Buffer.byteLength(result);
      update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
    }
  const tag = [...text.matchAll(/<(tool_call-\w+) name=/g)].at(-1)?.[1];
  if (toAgentMs.length < rounds) say(`<${tag} name="step">\n${JSON.stringify({ at: now() })}\n</${tag}>`);
  else say(JSON.stringify({ prompts, bytes, toAgentMs }));
  send({ method: "_cognition.ai/agent_stopped", params: { sessionId, cause: "end_turn" } });
  send({ id, result: { stopReason: "end_turn" } });
}

async function newSession(id: unknown, mcpServers: readonly unknown[]): Promise<void> {
  const server = startsServers ? await McpClient.open(mcpServers[0] ?? {}) : undefined;
  if (server !== undefined) servers.push(server);
  const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] };
  send({ id, result: { sessionId: `session-${String(id)}`, modes } });
}

process.stdin.setEncoding("utf8");
process.stdin.on("end", () => {
  for (const server of servers) server.close();
  process.exit(0);
});
process.stdin.on("data", (text: string) => {
  bytes += Buffer.byteLength(text);
  const lines = (half + text).split("\n");
  half = lines.pop() ?? "";
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line) as {
      readonly id: unknown;
      readonly method: string;
      readonly params: { sessionId: string; mcpServers: unknown[]; prompt: { text: string }[] };
    };
    const agentInfo = { name: "loop", version: "1" };
    if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {}, agentInfo } });
    else if (method === "session/new") void newSession(id, params.mcpServers);
    else if (method === "session/prompt")
      void prompted(id, params.sessionId, params.prompt.map((part) => part.text).join("\n"));
    else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
  }
});
