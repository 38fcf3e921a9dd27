import type { AcpAgent } from "../../../backends/acp/agent.ts";
import { type Backend, eventsOf, type Prompt } from "../../../backends/backend.ts";
import { bestEffort, deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { CascadeId, ModelUid } from "../../../base/ids.ts";
import type { Tool } from "../../../log/request.ts";
import { layoutPrompt } from "../../../turns/prompt/layout.ts";
import { askedFor } from "./prompt-cases.ts";
import { type Assumption, differs, judged, ok, unknown } from "./report.ts";

/** How long the last call of the loop waits: agents end a call without a sign of life after 30 to 60 s; ms. */
export const heldMs = 65_000;

const wantedCalls = 5;
/** A model that does not stop is stopped here. */
const mostCalls = 10;
const limitMs = 300_000;

/** What an agent did with a tool of its client, in a loop of five calls. */
type ToolsObservation = Awaited<ReturnType<typeof useTools>>;

const server = "acp.md, The server of a session";

const unsettled = { source: server, certainty: "not settled" } as const;

/** The assumptions about a client's tools as an agent's own. */
export const toolAssumptions: readonly Assumption<ToolsObservation>[] = [
  {
    id: "agent.tools",
    sentence: "The agent starts the stdio server of a session and asks it for its tools.",
    source: server,
    certainty: "one source",
    check: ({ listed, problem }) =>
      listed ? ok("asked for the tools") : problem === undefined ? differs("did not ask for them") : unknown(problem),
  },
  {
    id: "agent.tools-own",
    sentence: "The agent calls the tools of the client, and none of its own.",
    ...unsettled,
    check: ({ calls, own, problem }) => {
      if (calls === 0 && own.length === 0) return unknown(problem ?? "it used no tool");
      return judged(
        own.length === 0 && calls > 0,
        [`${calls} calls`, ...own.map((kind) => `its own ${kind}`)].join(", "),
      );
    },
  },
  {
    id: "agent.tools-permission",
    sentence: "The agent asks for no permission to call the tools of the client.",
    ...unsettled,
    check: ({ calls, permissions, problem }) =>
      calls === 0 && permissions === 0
        ? unknown(problem ?? "it made no call")
        : judged(permissions === 0, `asked ${permissions} times`),
  },
  {
    id: "agent.tools-held",
    sentence: "A call may wait for more than a minute, with a sign of life every 5 s.",
    ...unsettled,
    check: ({ held, problem }) =>
      held === undefined
        ? unknown(problem ?? "it made fewer calls than it was asked for")
        : judged(held, held ? `waited for ${heldMs / 1_000} s` : "gave up the call"),
  },
  {
    id: "agent.tools-loop",
    sentence: "A loop of five calls is one prompt.",
    ...unsettled,
    check: ({ calls, prompts, problem }) =>
      calls < wantedCalls || problem !== undefined
        ? unknown(problem ?? `it made ${calls} calls`)
        : judged(prompts === 1, `${calls} calls, ${prompts} prompts`),
  },
];

const step: Tool = {
  name: "next_number",
  description: "Takes a number and tells the next one.",
  kind: "function",
  parameters: {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
    additionalProperties: false,
  },
};
const question =
  `Call the tool next_number ${wantedCalls} times, one call after the other: first with 1, then each time with the number that the ` +
  "result before names. Then answer with the last number.";

/**
 * Asks an agent for a loop of five calls, with one prompt at most, and keeps the last call waiting: `held` tells whether it was waited
 * for to its end, if it came to that. `own`: the kinds of the agent's own tools. Throws only the signal's reason.
 */
export async function useTools(
  agent: Pick<AcpAgent, "stats">,
  { backend, model, clock }: { readonly backend: Backend; readonly model: string | undefined; readonly clock: Clock },
  signal: AbortSignal,
) {
  const uid = (model ?? "default") as ModelUid; // "default" is the agent's own choice
  const request = { ...askedFor(question), tools: [step] };
  const { prompt } = layoutPrompt(request, { uid, number: undefined, contextTokens: undefined });
  const limited = deadline(signal, limitMs);
  const own = new Set<string>();
  let asked: Prompt = prompt;
  let cascadeId: CascadeId | undefined;
  let [calls, listed] = [0, false];
  let held: boolean | undefined;
  let problem: string | undefined;
  for (let goesOn = true; goesOn; ) {
    const given: string[] = [];
    goesOn = false;
    let begun = false;
    for await (const event of eventsOf(backend.run(asked, { keep: true, onAlive: () => {} }, limited))) {
      if (event.type === "started") {
        begun = true;
        cascadeId = event.cascadeId;
        listed = event.tools === "native";
        if (!listed) break; // before its prompt is sent
      }
      if (event.type === "tool_call") given.push(event.callId);
      if (event.type === "failed") problem = event.error.message;
      if (event.type === "finished" || event.type === "failed") for (const kind of event.ideTools ?? []) own.add(kind);
    }
    signal.throwIfAborted();
    if (calls >= wantedCalls) held ??= begun;
    calls += given.length;
    const { native } = prompt;
    if (native === undefined || cascadeId === undefined || given.length === 0 || calls > mostCalls) continue;
    if (calls >= wantedCalls && held === undefined) await clock.sleep(heldMs, limited);
    const results = given.map((callId, n) => {
      const text = `The next number is ${calls - given.length + n + 2}.`;
      return { callId, content: [{ type: "text", text } as const], isError: false };
    });
    asked = { ...prompt, continues: cascadeId, native: { ...native, results } };
    goesOn = true;
  }
  const { prompts, processes } = await agent.stats();
  const permissions = processes.reduce((sum, process) => sum + process.permissions, 0);
  if (cascadeId !== undefined) await bestEffort(backend.archive(cascadeId, limited));
  return { listed, calls, prompts, permissions, own: [...own], held, problem: limited.aborted ? tooSlow : problem };
}

const tooSlow = "it did not answer in time";
