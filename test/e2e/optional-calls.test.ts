import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { type RunningGateway, startGateway } from "../../src/cli/compose/start-gateway.ts";
import { bash } from "../support/tool-loop.ts";
import { ask, model, openai, patience } from "../support/world.ts";

const steps = "GetCascadeTrajectorySteps";
const transcript = "GetCascadeTranscriptForTrajectoryId";
const status = "GetCascadeTrajectory";
/** Calls that not every build has, beside the two that read an answer: a build has at least one of those. */
const beside = [
  status,
  "GetCascadeTrajectoryGeneratorMetadata",
  "ArchiveCascadeTrajectory",
  "DeleteCascadeTrajectory",
  "CancelCascadeInvocation",
  "CheckUserMessageRateLimit",
  "CheckChatCapacity",
  "GetUnleashData",
] as const;

/** The builds, by the calls that they lack. */
const builds: readonly (readonly [name: string, missing: readonly string[]])[] = [
  ["nothing", []],
  ["everything but the transcript", [steps, ...beside]],
  ["everything but the steps", [transcript, ...beside]],
];

/** One stand-in for all: a build is what it refuses, and the gateway that asks it knows no other build. */
let ide: Simulator;
let served: RunningGateway;
let client: OpenAI;
beforeAll(async () => {
  ide = await startSimulator({ turn: { rate: "instant", firstMs: 10, inputMs: 5 } });
});
afterAll(() => ide.stop());

async function open(): Promise<void> {
  const { home } = ide;
  const env = { MILLRACE_IDE_ONLY_HOME: home, PATH: process.env["PATH"] ?? "" };
  served = await startGateway({ homeFolder: home, env, storeFile: join(home, "turns.db"), accept: true });
  client = openai(served);
}

/** What a client does, what comes of it on any build, and how many prompts that takes. */
const scenarios: readonly (readonly [name: string, run: () => Promise<object>, expected: object])[] = [
  [
    "asks again for a call that the model missed",
    async () => {
      const question = ask("[[sim: agent=truncated]] Look.");
      const { choices } = await client.chat.completions.create({ ...question, tools: [bash], tool_choice: "required" });
      return { reason: choices[0]?.finish_reason, calls: choices[0]?.message.tool_calls?.length };
    },
    { reason: "tool_calls", calls: 1, prompts: 2 },
  ],
  [
    "asks again for JSON of the schema",
    async () => {
      const { choices } = await client.chat.completions.create({
        ...ask("[[sim: json=wrong-type]] count to 3"),
        response_format: { type: "json_schema", json_schema: { name: "counted", schema: counted } },
      });
      return { json: JSON.parse(choices[0]?.message.content ?? "") as unknown };
    },
    { json: { count: expect.any(Number) as number }, prompts: 2 },
  ],
  [
    "goes on with the conversation",
    async () => {
      const first = await client.chat.completions.create(ask("one"));
      const answer = { role: "assistant" as const, content: first.choices[0]?.message.content ?? "" };
      const messages = [...ask("one").messages, answer, ...ask("two").messages];
      const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
      return { continuity: response.headers.get("x-millrace-continuity"), reason: data.choices[0]?.finish_reason };
    },
    { continuity: "reused", reason: "stop", prompts: 2 },
  ],
  [
    "cancels an answer",
    async () => {
      const id = await begun("[[sim: size=9000 rate=50]] for ever");
      const { status: cancelled } = await client.responses.cancel(id);
      return { cancelled, afterwards: (await client.responses.retrieve(id)).status };
    },
    { cancelled: "cancelled", afterwards: "cancelled", prompts: 1 },
  ],
  [
    "adopts an answer from the gateway before",
    async () => {
      const id = await begun("[[sim: size=600 hold-after=300]] write");
      await served.close();
      await open();
      await ide.release();
      for await (const event of await client.responses.retrieve(id, { stream: true }, { signal: patience() }))
        if (event.type === "response.failed") throw new Error(JSON.stringify(event));
      const { status: ended, output_text: text } = await client.responses.retrieve(id);
      return { ended, length: text.length };
    },
    { ended: "completed", length: 600, prompts: 1 },
  ],
];

const counted = {
  type: "object",
  properties: { count: { type: "integer" } },
  required: ["count"],
  additionalProperties: false,
};

/** The id of a response in the background, some of which has arrived. */
async function begun(input: string): Promise<string> {
  const { id } = await client.responses.create({ model, input, background: true });
  for await (const event of await client.responses.retrieve(id, { stream: true }, { signal: patience() }))
    if (event.type === "response.output_text.delta") break;
  return id;
}

describe.each(builds)("a build without %s", (_, missing) => {
  let asked: Readonly<Record<string, number>>;
  beforeAll(async () => {
    const error = { code: "unimplemented", message: "unknown method" } as const;
    await ide.setFaults(missing.map((rpc) => ({ rpc, error })));
    asked = (await ide.report()).calls;
    await open();
  });
  afterAll(() => served.close());

  it.each(scenarios)("%s", async (_, run, expected) => {
    const before = (await ide.report()).messages.length;
    const outcome = await run();
    expect({ ...outcome, prompts: (await ide.report()).messages.length - before }).toEqual(expected);
  });

  it("is asked for a missing call at most twice by each of the two gateways: by its look at the build, and by the first turn", async () => {
    const { calls } = await ide.report();
    const often = missing.filter((rpc) => (calls[rpc] ?? 0) - (asked[rpc] ?? 0) > 4);
    expect(often).toEqual([]);
  });
});
