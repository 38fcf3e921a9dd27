import type OpenAI from "openai";
import { expect, it } from "vitest";
import { bash } from "../support/tool-loop.ts";
import { ask, gateway, model, openai, patience, world } from "../support/world.ts";

/** Calls that not every build has. */
const optional = [
  "GetCascadeTrajectory",
  "GetCascadeTrajectorySteps",
  "GetCascadeTrajectoryGeneratorMetadata",
  "ArchiveCascadeTrajectory",
  "CancelCascadeInvocation",
] as const;

const unimplemented = { code: "unimplemented", message: "unknown method" } as const;

it.each([...optional.map((rpc) => [rpc]), optional])(
  "asks again, goes on, cancels and takes up the same way on a build without %s",
  async (...missing) => {
    const faults = missing.map((rpc) => ({ rpc, error: unimplemented }));
    const { home, ide, served, client } = await world({ simulator: { turn: { rate: "instant" }, faults } });
    const again = await client.chat.completions.create({
      ...ask("[[sim: agent=truncated]] Look."),
      tools: [bash],
      tool_choice: "required",
    });
    expect(again.choices[0]?.finish_reason).toBe("tool_calls");
    expect((await ide.report()).messages).toHaveLength(2);

    const json = await client.chat.completions.create({
      ...ask("[[sim: json=wrong-type]] count to 3"),
      response_format: { type: "json_schema", json_schema: { name: "counted", schema: counted } },
    });
    expect(JSON.parse(json.choices[0]?.message.content ?? "")).toEqual({ count: expect.any(Number) as number });
    expect((await ide.report()).messages).toHaveLength(4);

    const first = await client.chat.completions.create(ask("one"));
    const answer = first.choices[0]?.message.content ?? "";
    const followUp = {
      ...ask("one"),
      messages: [
        ...ask("one").messages,
        { role: "assistant" as const, content: answer },
        { role: "user" as const, content: "two" },
      ],
    };
    const { response } = await client.chat.completions.create(followUp).withResponse();
    expect(response.headers.get("x-millrace-continuity")).toBe("reused");

    const endless = await begun(client, "[[sim: size=9000 rate=50]] for ever");
    expect((await client.responses.cancel(endless)).status).toBe("cancelled");
    expect((await client.responses.retrieve(endless)).status).toBe("cancelled");

    const { calls } = await ide.report();
    for (const rpc of missing) expect(calls[rpc] ?? 0).toBeLessThanOrEqual(2); // once for the build, once by the first turn

    const left = await begun(client, "[[sim: size=600 hold-after=300]] write");
    await served.kill();
    const next = openai(await gateway({ home }));
    await ide.release();
    const whole = await next.responses.retrieve(left, { stream: true });
    for await (const event of whole) if (event.type === "response.failed") throw new Error(JSON.stringify(event));
    expect((await next.responses.retrieve(left)).output_text).toHaveLength(600);
    expect((await ide.report()).messages).toHaveLength(8);
  },
);

const counted = {
  type: "object",
  properties: { count: { type: "integer" } },
  required: ["count"],
  additionalProperties: false,
};

/** The id of a response in the background, some of which has arrived. */
async function begun(client: OpenAI, input: string): Promise<string> {
  const { id } = await client.responses.create({ model, input, background: true });
  for await (const event of await client.responses.retrieve(id, { stream: true }, { signal: patience() })) {
    if (event.type === "response.output_text.delta") break;
  }
  return id;
}
