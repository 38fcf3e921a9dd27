import { agentError } from "../../../src/backends/acp/process/errors.ts";
import { UpdateReader } from "../../../src/backends/acp/session/updates.ts";
import { JsonLines } from "../../../src/backends/acp/wire/lines.ts";
import { RpcPeer } from "../../../src/backends/acp/wire/rpc-peer.ts";
import { tokensIn } from "../../../src/backends/acp/wire/token-counts.ts";
import { type Target, textOf, utf8 } from "../target.ts";

const update = (of: object) => ({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: of } });
const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } };
const lines: readonly object[] = [
  update(chunk),
  update({ ...chunk, sessionUpdate: "agent_thought_chunk" }),
  update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Read", kind: "read", status: "pending" }),
  update({ sessionUpdate: "usage_update", _meta: { input_tokens: 3, output_tokens: 4 } }),
  {
    jsonrpc: "2.0",
    id: 7,
    method: "session/request_permission",
    params: { toolCall: { toolCallId: "t", kind: "edit" }, options: [] },
  },
  { jsonrpc: "2.0", method: "_cognition.ai/agent_stopped", params: { cause: "complete", stats: { input_tokens: 3 } } },
  { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "out of quota", data: { details: "x" } } },
  { jsonrpc: "2.0", id: 1, result: { stopReason: "end_turn", usage: { inputTokens: 3 } } },
];

const devin = { name: "devin", command: "devin", vendor: "devin" } as const;

/** A whole agent as far as its client reads it: pieces of lines, calls, updates, replies and errors. */
export const agentTargets: readonly Target[] = [
  {
    name: "lines of an agent",
    form: "json",
    words: ["\n", '{"jsonrpc":"2.0",', '"sessionUpdate":', '"method":"session/update",', '"id":1,'],
    seeds: () => [
      ...lines.map((line) => utf8(`${JSON.stringify(line)}\n`)),
      utf8(lines.map((line) => JSON.stringify(line)).join("\n")),
    ],
    run(input) {
      const reader = new UpdateReader();
      const object = (value: unknown) => Object(value) as Record<string, unknown>; // also of a text or a number
      const peer = new RpcPeer(() => {}, {
        onRequest(_, params) {
          reader.readPermission(object(params["toolCall"]));
          return {};
        },
        onNotification(method, params) {
          if (method === "session/update") reader.read(object(params["update"]));
          else reader.readStopped(params);
        },
      });
      peer.ask("session/prompt", {}, (reply) => {
        if ("error" in reply) void agentError(reply.error, { spec: devin, clock: { now: () => 1_750_000_000_000 } });
        else void tokensIn(object(reply.result)["usage"]);
      });
      const reading = new JsonLines();
      const text = `${textOf(input)}\n`;
      const middle = Math.floor(text.length / 2);
      try {
        for (const piece of [text.slice(0, middle), text.slice(middle)])
          for (const message of reading.feed(piece)) peer.receive(message);
      } catch (error) {
        if (!(error instanceof RangeError && /too many levels|too long/.test(error.message))) throw error; // its agent is given up
      }
    },
  },
];
