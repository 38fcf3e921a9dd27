import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { call, path, withSdk } from "./responses.fake.ts";

type Item = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };
interface Body {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly error: { readonly message: string; readonly param: string };
}

const user = (content: string) => ({ role: "user", content });
const refer = (id: string) => ({ type: "item_reference", id });

function world(
  answer: Parameters<typeof withSdk>[0] = [
    started,
    { type: "thinking", delta: "hm" },
    text("It rains."),
    finished("It rains."),
  ],
) {
  const fake = withSdk(answer);
  const ask = async (body: object, headers: Readonly<Record<string, string>> = {}, at = path) => {
    const response = await fake.request(at, { json: { model: "test-model", ...body }, headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
  const prompted = () => fake.turns.started.at(-1)?.request.messages ?? [];
  return { ...fake, ask, prompted };
}

describe("a reference to an item that this gateway gave out", () => {
  it("stands for the item: an answer, a thought, an input of the client", async () => {
    const { ask, prompted, request } = world();
    const { body } = await ask({ input: "FIRST" });
    const [thought, said] = body.output;
    const listed = (await (await request(`${path}/${body.id}/input_items`)).json()) as { data: Item[] };
    const ids = [listed.data[0]?.id, thought?.id, said?.id].map((id) => refer(String(id)));
    const next = await ask({ input: [...ids, user("SECOND")] });
    expect(next.status).toBe(200);
    expect(prompted()).toEqual([
      { role: "user", parts: [{ type: "text", text: "FIRST" }] },
      { role: "assistant", parts: [{ type: "text", text: "It rains." }], thinking: "hm", toolCalls: [] },
      { role: "user", parts: [{ type: "text", text: "SECOND" }] },
    ]);
  });

  it("stands for a call, to which a result can be given", async () => {
    const { ask, prompted } = world([started, call("c1", "look_up", '{"id":2512292042121000001}'), finished("")]);
    const { body } = await ask({ input: "x", tools: [{ type: "function", name: "look_up", parameters: {} }] });
    const result = { type: "function_call_output", call_id: body.output[0]?.["call_id"], output: "42" };
    const next = await ask({ input: [user("x"), refer(body.output[0]?.id ?? ""), result] });
    expect(next.status).toBe(200);
    expect(prompted()[1]).toMatchObject({ toolCalls: [{ name: "look_up", arguments: '{"id":2512292042121000001}' }] });
  });

  it("needs no type", async () => {
    const { ask, prompted } = world();
    const { body } = await ask({ input: "FIRST" });
    const next = await ask({ input: [{ id: body.output[1]?.id }, { type: null, id: "other" }, user("SECOND")] });
    expect([next.status, next.headers.get("x-millrace-left-out")]).toEqual([200, "item"]);
    expect(prompted()[0]?.parts).toEqual([{ type: "text", text: "It rains." }]);
  });

  it.each(["input_tokens", "compact"])("can be given to %s too", async (route) => {
    const { ask } = world();
    const { body } = await ask({ input: "FIRST" });
    const answer = await ask({ input: [refer(body.output[1]?.id ?? ""), user("x")] }, {}, `${path}/${route}`);
    expect(answer.status).toBe(200);
  });

  it("is not found under another key, without store, and where it is none of ours", async () => {
    const { ask } = world();
    const { body } = await ask({ input: "FIRST" });
    const unstored = await ask({ input: "FIRST", store: false });
    const [id, other] = [body.output[1]?.id ?? "", unstored.body.output[1]?.id ?? ""];
    const cases: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      [id, { authorization: `Bearer ${guestKey}` }],
      [other, {}],
      [`${id}9`, {}],
      ["msg_unknown", {}],
      ["rs_0123456789abcdefghijklmnop_0", {}],
      ["", {}],
    ];
    for (const [asked, headers] of cases) {
      const refused = await ask({ input: [refer(asked), user("x")] }, headers);
      expect(refused.status).toBe(404);
      expect(refused.body.error).toMatchObject({
        param: "input[0].id",
        message: expect.stringContaining("kept for a limited time"),
      });
    }
  });
});

describe("a reference to an item whose time is over", () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const rain = [{ type: "text", text: "(An answer that is no longer kept.)" }];

  it.each([
    ["a while ago", 0],
    ["days ago", 3 * dayMs],
  ])("is left out of the history, if that was %s", async (_, sinceMs) => {
    const { ask, prompted, turns, clock } = world();
    const { body } = await ask({ input: "FIRST" });
    const [thought, said] = body.output.map(({ id }) => refer(id));
    await clock.advance(sinceMs);
    turns.get = () =>
      sinceMs === 0 ? Promise.reject(new MillraceError("expired", "Over.")) : Promise.resolve(undefined);
    const next = await ask({ input: [user("FIRST"), thought, said, user("SECOND")] });
    expect([next.status, next.headers.get("x-millrace-left-out")]).toEqual([200, "item_reference"]);
    expect(prompted().map(({ role, parts }) => ({ role, parts }))).toEqual([
      { role: "user", parts: [{ type: "text", text: "FIRST" }] },
      { role: "assistant", parts: rain },
      { role: "user", parts: [{ type: "text", text: "SECOND" }] },
    ]);
  });

  it("leaves the results of its calls", async () => {
    const { ask, prompted, turns } = world([started, call("c1", "look_up", "{}"), finished("")]);
    const { body } = await ask({ input: "x", tools: [{ type: "function", name: "look_up", parameters: {} }] });
    turns.get = () => Promise.reject(new MillraceError("expired", "Over."));
    const result = { type: "function_call_output", call_id: body.output[0]?.["call_id"], output: "42" };
    const next = await ask({ input: [user("x"), refer(body.output[0]?.id ?? ""), result, user("SECOND")] });
    expect(next.status).toBe(200);
    expect(prompted()[2]).toMatchObject({ role: "tool", parts: [{ type: "text", text: "42" }] });
  });
});

describe("a compaction that the input asks for", () => {
  const input = [user("long"), { role: "assistant", content: "done" }, { type: "compaction_trigger" }];
  const notes = [started, text("We built "), text("a bridge."), finished("We built a bridge.")];

  it("is one item, which a later request brings back", async () => {
    const { ask, prompted } = world(notes);
    const { status, body } = await ask({ input, tools: [{ type: "function", name: "t", parameters: {} }] });
    expect([status, body.status]).toEqual([200, "completed"]);
    expect(body.output.map(({ type }) => type)).toEqual(["compaction"]);
    expect(prompted()).toHaveLength(3);
    await ask({ input: [...body.output, user("go on")] });
    const notesBack = expect.stringContaining("We built a bridge.") as string;
    expect(prompted()).toEqual([
      { role: "user", parts: [{ type: "text", text: notesBack }] },
      { role: "user", parts: [{ type: "text", text: "go on" }] },
    ]);
    await ask({ input: "go on", previous_response_id: body.id });
    expect(prompted()[0]?.parts).toEqual([{ type: "text", text: notesBack }]);
    expect(prompted()).toHaveLength(2);
    await ask({ input: [refer(body.output[0]?.id ?? ""), user("x")] });
    expect(prompted()).toHaveLength(2);
  });

  it("needs no tools, no form and no input of its own, and more than one trigger is one", async () => {
    const { ask, turns } = world(notes);
    const hosted = [{ type: "web_search" }];
    const text = { format: { type: "json_schema", name: "x", schema: { type: "object" } } };
    const trigger = { type: "compaction_trigger" };
    const { body } = await ask({ input: [...input, trigger], tools: hosted, tool_choice: "required", text });
    expect(body.output.map(({ type }) => type)).toEqual(["compaction"]);
    expect(turns.started.at(-1)?.request).toMatchObject({ tools: [], responseFormat: { type: "text" } });
    for (const [at, asked] of [
      [path, { input: [trigger] }],
      [`${path}/compact`, {}],
      [`${path}/compact`, { input: [], tools: hosted }],
    ] as const) {
      const next = await ask({ ...asked, previous_response_id: body.id }, {}, at);
      expect([next.status, next.body.output.at(-1)?.type]).toEqual([200, "compaction"]);
    }
    expect((await ask({ input: [trigger] })).status).toBe(400);
    expect((await ask({ input, max_output_tokens: 0 })).body.output).toEqual([]);
  });

  it("is the same in a stream, and when it is read again", async () => {
    const { request } = world(notes);
    const stream = await request(path, { json: { model: "test-model", input, stream: true } });
    const events = (await new SseReader(stream).rest()).filter(({ data }) => data !== "[DONE]");
    const json = events.map(({ data }) => JSON.parse(data) as { type: string; item?: Item; response?: Body });
    expect(json.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.done",
      "response.completed",
    ]);
    const last = json.at(-1)?.response;
    expect(last?.output).toEqual([json[3]?.item]);
    const stored = (await (await request(`${path}/${last?.id}`)).json()) as Body;
    expect(stored.output).toEqual(last?.output);
  });
});
