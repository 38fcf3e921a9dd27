import { describe, expect, it } from "vitest";
import type { Backend, Backends } from "../backends/backend.ts";
import { startOfLog } from "../base/ids.ts";
import type { TurnEvent } from "../log/event.ts";
import type { TurnRequest } from "../log/request.ts";
import { layoutPrompt } from "./prompt/layout.ts";
import { assistant, bash, fakeRequest, toolResult, user } from "./prompt/request.fake.ts";
import { eachDelivered } from "./read.ts";
import { ScriptedBackend, scriptedCascade } from "./tools/scripted-backend.fake.ts";
import { asking, fakeTurns } from "./turns.fake.ts";

const call = (body: string) => `<tool_call name="bash">\n${body}\n</tool_call>`;
const signal = new AbortController().signal;

/** The real turns over answers that are written down, with the real layout. */
function talking(backend: ScriptedBackend, continuity?: { readonly idleMs: number }) {
  const backends: Backends = {
    choose: (): Promise<Backend> => Promise.resolve(backend),
    holding: (): Promise<Backend> => Promise.resolve(backend),
  };
  const { turns } = fakeTurns({
    backends,
    layout: (request, model, options) => layoutPrompt(request, { ...model, contextTokens: undefined }, options).prompt,
    ...(continuity === undefined ? {} : { continuity }),
  });
  let asked = 0;
  const ask = async (fields: Partial<TurnRequest>) => {
    const started = await turns.start(asking({ request: fakeRequest(fields), fingerprint: `body-${asked++}` }), signal);
    const events: TurnEvent[] = [];
    for await (const event of eachDelivered(() => turns.open(started.turnId, startOfLog, signal))) events.push(event);
    return { events, how: started.continuity(), last: events.at(-1) };
  };
  return { turns, ask };
}

describe("the way of a turn", () => {
  it("logs calls instead of the text they were written as", async () => {
    const backend = new ScriptedBackend(`Looking.\n${call('{"timeoutMs":1}')}`, call('{"command":"ls"}'));
    const { ask, turns } = talking(backend);
    const { events, how, last } = await ask({ tools: [bash] });
    expect(events.filter(({ type }) => type === "tool_call").at(-1)).toMatchObject({ name: "bash", done: true });
    expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    expect(how).toBe("rebuilt(off)");
    await turns.stop();
    expect(backend.archived).toEqual([scriptedCascade]);
  });

  it("continues in the same trajectory through a tool loop, and archives it when the turns stop", async () => {
    const backend = new ScriptedBackend(call('{"command":"ls"}'), "One file.");
    const { ask, turns } = talking(backend, { idleMs: 60_000 });
    const first = await ask({ tools: [bash], messages: [user("Look")] });
    expect(first.how).toBe("rebuilt(first)");
    const messages = [
      user("Look"),
      assistant("", [{ id: "x", name: "bash", arguments: { command: "ls" } }]),
      toolResult("x", "a.txt"),
    ];
    const second = await ask({ tools: [bash], messages });
    expect(second.how).toBe("reused");
    expect(backend.prompts[1]).toMatchObject({
      continues: scriptedCascade,
      text: expect.stringMatching(/^<(tool_result-\w{7}) name="bash" call="1">\na\.txt\n<\/\1>\n\n\(From here on/),
    });
    expect(backend.archived).toEqual([]);
    await turns.stop();
    expect(backend.archived).toEqual([scriptedCascade]);
  });
});
