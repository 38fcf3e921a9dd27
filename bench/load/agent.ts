import process from "node:process";
import { answerText, endsAtMs, type Growth, lengthAt, nowMs } from "./answer.ts";

/*
 * An agent that costs as little as it can, over its standard streams: it writes what its answers have grown by, 40 times a second. Its
 * argument is the growth, as JSON.
 */

const growth = JSON.parse(process.argv[2] ?? "") as Growth;
const chunkMs = 25;
const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] };
const abilities = { loadSession: true, sessionCapabilities: { delete: {}, close: {} } };
let sessions = 0;

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function answer(id: number, sessionId: string): void {
  const firstAtMs = nowMs() + growth.firstMs;
  const text = answerText(firstAtMs, growth);
  let sent = 0;
  const grow = () => {
    const length = lengthAt(nowMs(), firstAtMs, growth);
    if (length > sent) {
      const content = { type: "text", text: text.slice(sent, length) };
      say({
        method: "session/update",
        params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content } },
      });
      sent = length;
    }
    if (nowMs() < endsAtMs(firstAtMs, growth)) return;
    clearInterval(growing);
    say({ method: "_cognition.ai/agent_stopped", params: { sessionId, cause: "end_turn" } });
    say({ id, result: { stopReason: "end_turn" } });
  };
  let growing = setTimeout(() => {
    growing = setInterval(grow, chunkMs);
    grow();
  }, growth.firstMs);
}

function hear(line: string): void {
  const { id, method, params } = JSON.parse(line) as {
    readonly id?: number;
    readonly method?: string;
    readonly params: { readonly sessionId: string };
  }; // the client's wire
  if (id === undefined) return;
  if (method === "session/prompt") answer(id, params.sessionId);
  else if (method === "session/new") say({ id, result: { sessionId: `session-0000-0000-${sessions++}`, modes } });
  else if (method === "initialize") {
    const agentInfo = { name: "load", version: "1" };
    say({ id, result: { protocolVersion: 1, agentInfo, agentCapabilities: abilities } });
  } else say({ id, result: {} });
}

let half = "";
process.stdin.setEncoding("utf8").on("data", (text: string) => {
  const lines = (half + text).split("\n");
  half = lines.pop() ?? "";
  for (const line of lines) hear(line);
});
process.stdin.on("end", () => process.exit(0));
