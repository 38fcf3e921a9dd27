import process from "node:process";

/*
 * An ACP agent that does nothing but stream: so many chunks as its first argument says, with a pause of so many ms between
 * them as its second one. Each chunk's text is the time at which it was written, epoch ms.
 */

const chunks = Number(process.argv[2]);
const pauseMs = Number(process.argv[3]);
let rest = "";

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function stream(id: unknown, sessionId: unknown): void {
  const atOnce = pauseMs === 0 ? chunks : 1;
  let sent = 0;
  const next = () => {
    for (let chunk = 0; chunk < atOnce; chunk++) {
      const text = `${(performance.timeOrigin + performance.now()).toFixed(3)}\n`;
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
      send({ method: "session/update", params: { sessionId, update } });
    }
    sent += atOnce;
    if (sent < chunks) setTimeout(next, pauseMs);
    else send({ id, result: { stopReason: "end_turn" } });
  };
  next();
}

process.stdin.setEncoding("utf8");
process.stdin.on("end", () => process.exit(0));
process.stdin.on("data", (text: string) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line === "") continue;
    const { id, method, params } = JSON.parse(line) as { id: unknown; method: string; params: { sessionId: unknown } };
    if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    else if (method === "session/new") send({ id, result: { sessionId: `session-${String(id)}` } });
    else if (method === "session/prompt") stream(id, params.sessionId);
    else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
  }
});
