import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { answer, chat, openStream, path, streamed } from "./turn-route.fake.ts";

describe("joining", () => {
  const key = { "idempotency-key": "k-1" };

  it("gives two requests with one key one turn, and says so", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const first = await openStream(fake, key);
    const second = await openStream(fake, key);
    expect(second.response.headers.get("x-millrace-joined")).toBe("key");
    expect(await second.reader.rest()).toEqual(await first.reader.rest());
    expect(fake.turns.started).toHaveLength(1);
  });

  it.each([
    ["anything was asked", []],
    ["the answer began", [started]],
  ])("asks for the request again if its turn was taken back before %s", async (_, events) => {
    for (const stream of [true, false]) {
      const fake = fakeGateway();
      fake.turns.script = () => events;
      const response = fake.request(path, { json: { ...chat, stream }, headers: key });
      await expect.poll(() => fake.turns.started.length).toBe(1);
      fake.turns.takeBack(fake.turns.turnId(0));
      const { status, headers } = await response;
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    }
  });

  it("refuses the key with another body, and lets another caller use it", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    await openStream(fake, key);
    const conflict = await fake.request(path, { json: { ...streamed, temperature: 1 }, headers: key });
    expect(conflict.status).toBe(422);
    expect(await conflict.json()).toMatchObject({ error: { code: "idempotency_conflict" } });
    const guest = await openStream(fake, { ...key, authorization: `Bearer ${guestKey}` });
    expect(guest.response.headers.get("x-millrace-joined")).toBe("no");
    expect(fake.turns.started).toHaveLength(2);
  });

  it("joins the same request without streaming to the turn that was streamed", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("slow")];
    const { reader } = await openStream(fake);
    await reader.cancel();
    fake.turns.emit(fake.turns.turnId(0), finished("slow"));
    const response = await fake.request(path, { json: { ...chat, stream: false } });
    expect(response.headers.get("x-millrace-joined")).toBe("implicit");
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "slow" } }] });
  });

  it("joins a repeat whose members stand in another order", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("slow")];
    const metadata = { thread: "1", turn: "2", more: [{ a: 1, b: 2 }] };
    const { reader } = await openStream(fake, {}, { ...streamed, metadata });
    await reader.cancel();
    fake.turns.emit(fake.turns.turnId(0), finished("slow"));
    const reversed = { metadata: { more: [{ b: 2, a: 1 }], turn: "2", thread: "1" }, ...chat };
    const response = await fake.request(path, { json: reversed });
    expect(response.headers.get("x-millrace-joined")).toBe("implicit");
    fake.turns.script = () => answer;
    const other = await fake.request(path, { json: { ...chat, metadata: { ...metadata, turn: "1", thread: "2" } } });
    expect(other.headers.get("x-millrace-joined")).toBe("no");
  });

  describe("a request that says that its answer was cut", () => {
    const note =
      "<system-reminder>\nYour response above was cut off mid-stream. Resume directly from where it stops.\n</system-reminder>";
    const mark = { cache_control: { type: "ephemeral" } };
    const asked = { type: "text", text: "Say it." };
    const ask = (messages: readonly unknown[]) => ({ model: "test-model", max_tokens: 9, stream: true, messages });
    const first = ask([{ role: "user", content: [{ ...asked, ...mark }] }]);
    const broken = { type: "text", text: `${asked.text}\n` }; // another text follows
    const told = { type: "text", text: note, ...mark };
    const path = "/v1/messages";

    const wants = { role: "user", content: note };
    const spoken = (content: unknown) => [{ role: "user", content: [asked] }, { role: "assistant", content }, wants];

    it.each([
      ["in the same message", [{ role: "user", content: [broken, told] }], "slow and whole"],
      ["twice", [{ role: "user", content: [broken, { type: "text", text: `${note}\n` }, told] }], "slow and whole"],
      [
        "in a message of its own",
        [
          { role: "user", content: [asked] },
          { role: "user", content: [told] },
        ],
        "slow and whole",
      ],
      ["after whole blocks of the answer", spoken([{ type: "text", text: "slow" }]), " and whole"],
      ["after a piece of the answer", spoken("slow an"), "d whole"],
      ["after another text", spoken("fast"), "slow and whole"],
    ])(
      "joins the turn of that answer, and goes on after what the client has: the note stands %s",
      async (_, messages, rest) => {
        for (const stream of [true, false]) {
          const fake = fakeGateway();
          fake.turns.script = () => [started, { type: "thinking", delta: "Well." }, text("slow")];
          const { reader } = await openStream(fake, {}, first, path);
          await reader.cancel();
          fake.turns.emit(fake.turns.turnId(0), text(" and whole"), finished("slow and whole"));
          const again = await fake.request(path, { json: { ...ask(messages), stream } });
          expect(again.headers.get("x-millrace-joined")).toBe("implicit");
          const answered = await again.text();
          const pieces = answered.matchAll(/"type":"text(?:_delta)?","text":("[^"]*")/g);
          expect([...pieces].map(([, piece = ""]) => JSON.parse(piece) as string).join("")).toBe(rest);
        }
      },
    );

    it("knows the note of Qwen Code, in Chat Completions", async () => {
      const fake = fakeGateway();
      fake.turns.script = () => [started, text("slow")];
      const { reader } = await openStream(fake);
      await reader.cancel();
      fake.turns.emit(fake.turns.turnId(0), text(" and whole"), finished("slow and whole"));
      const [question] = chat.messages;
      const dropped = "The connection dropped mid-response. Resume directly — no apology.";
      const messages = [question, { role: "assistant", content: "slow a" }, { role: "user", content: dropped }];
      const again = await fake.request("/v1/chat/completions", { json: { ...chat, messages } });
      expect(again.headers.get("x-millrace-joined")).toBe("implicit");
      expect(await again.json()).toMatchObject({ choices: [{ message: { content: "nd whole" } }] });
    });

    it("starts a turn where the gateway does not hold that answer, or the user speaks of a cut", async () => {
      const fake = fakeGateway();
      fake.turns.script = () => [started, text("slow")];
      const { reader } = await openStream(fake, {}, first, path);
      await reader.cancel();
      fake.turns.script = () => answer;
      const others = [
        [{ role: "user", content: [{ type: "text", text: "Something else." }, told] }],
        [{ role: "user", content: [asked, { type: "text", text: `Why do I read this? ${note}` }] }],
      ];
      for (const messages of others)
        expect((await fake.request(path, { json: ask(messages) })).headers.get("x-millrace-joined")).toBe("no");
    });
  });

  it("starts a new turn for the same question after the earlier answer was delivered", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    await (await openStream(fake)).reader.rest();
    const again = await openStream(fake);
    expect(again.response.headers.get("x-millrace-joined")).toBe("no");
  });

  it("is one turn also when the client went away before the first byte", async () => {
    proves("http.early-abort");
    const fake = fakeGateway();
    const gone = new AbortController();
    const first = fake.request(path, { json: streamed, signal: gone.signal });
    await fake.clock.advance(0);
    gone.abort();
    await expect(first).rejects.toThrow("left");
    expect(fake.turns.readers(fake.turns.turnId(0))).toBe(0);
    fake.turns.emit(fake.turns.turnId(0), ...answer);
    const second = await openStream(fake);
    expect(second.response.headers.get("x-millrace-joined")).toBe("implicit");
    expect(fake.turns.started).toHaveLength(1);
  });

  it("is nothing to warn of when the client goes away, however little of its request had come", async () => {
    const fake = fakeGateway();
    const gone = new AbortController();
    const first = fake.request(path, { json: streamed, signal: gone.signal });
    const body = new ReadableStream<Uint8Array>({
      start: (half) => half.enqueue(new TextEncoder().encode('{"model":')),
      pull: (half) => half.error(gone.signal.aborted ? gone.signal.reason : new Error("asked too early")),
    });
    await fake.clock.advance(0);
    gone.abort(new DOMException("The client closed the connection.", "AbortError"));
    const half = fake.request(path, { method: "POST", body, signal: gone.signal, duplex: "half" });
    await Promise.allSettled([first, half]);
    const requests = fake.logged.filter(({ event }) => event === "request");
    expect(requests.map(({ fields }) => fields["status"])).toEqual([499, 499]);
    expect(fake.logged.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });
});

describe("resuming", () => {
  it("gives from any cut exactly what was missing", async () => {
    const fake = fakeGateway();
    const tool = { type: "function", function: { name: "now" } };
    const body = { ...streamed, tools: [tool], stream_options: { include_usage: true } };
    const call: TurnEventBody = { type: "tool_call", callId: "c", name: "now", argumentsDelta: "", done: true };
    fake.turns.script = () => [started, text("Hi"), { type: "rewritten", text: "Ho" }, call, finished("Ho")];
    const whole = await (await openStream(fake, { "idempotency-key": "k" }, body)).reader.rest();
    expect(whole.length).toBeGreaterThan(6);
    for (let cut = 0; cut < whole.length - 1; cut++) {
      const { reader, response } = await openStream(fake, { "last-event-id": whole[cut]?.id ?? "" }, body);
      expect(response.headers.get("x-millrace-joined")).toBe("last_event_id");
      expect(await reader.rest()).toEqual(whole.slice(cut + 1));
    }
    expect(fake.turns.started).toHaveLength(1);
  });

  it("says politely that nothing is left: 204, which is no stream that could pass for one that broke", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const whole = await (await openStream(fake)).reader.rest();
    const headers = { "last-event-id": whole.at(-1)?.id ?? "" };
    const response = await fake.request(path, { json: streamed, headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("content-type")).toBeNull();
    expect(response.headers.get("x-millrace-joined")).toBe("last_event_id");
  });

  it("refuses a cursor past the end, running or ended, instead of ending without a word", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hi")];
    const { reader } = await openStream(fake);
    const [first] = [await reader.next()];
    const [turnId] = (first?.id ?? "").split(":");
    const ask = (eventId: string) =>
      fake.request(path, { json: streamed, headers: { "last-event-id": `${turnId}:${eventId}:0` } });
    for (const eventId of ["a3", "b10", "zzz"]) expect((await ask(eventId)).status).toBe(400);
    fake.turns.emit(fake.turns.turnId(0), finished("Hi"));
    await reader.rest();
    const refused = await ask("a4");
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { param: "last-event-id", hint: expect.stringContaining("leave it out") as unknown },
    });
    expect((await ask("a3")).status).toBe(200);
  });

  it("refuses a cursor that is not ours, of another caller, or of another request", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const whole = await (await openStream(fake)).reader.rest();
    const headers = { "last-event-id": whole[1]?.id ?? "" };
    const status = async (more: Record<string, string>, body: unknown = streamed) =>
      (await fake.request(path, { json: body, headers: { ...headers, ...more } })).status;
    expect(await status({ "last-event-id": "17" })).toBe(400);
    expect(await status({ authorization: `Bearer ${guestKey}` })).toBe(400);
    expect(await status({}, { ...streamed, temperature: 0 })).toBe(422);
    expect(fake.turns.started).toHaveLength(1);
  });

  it("asks anew for a reader that had nothing of a turn that was taken back", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const headers = { "last-event-id": `turn_${"0".repeat(26)}:0:0` };
    const { reader, response } = await openStream(fake, headers);
    expect((await reader.rest()).length).toBeGreaterThan(1);
    expect(response.headers.get("x-millrace-joined")).toBe("no");
  });

  it("says with each way to come back until when the answer is kept now", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hi"), finished("Hi")];
    const [first] = await (await openStream(fake)).reader.rest();
    const json = { model: "test-model", input: "Hi" };
    const { id } = (await (await fake.request("/v1/responses", { json })).json()) as { id: string };
    const chatTurn = fake.turns.turnId(0);
    const ways: readonly (() => Promise<Response>)[] = [
      () => fake.request(path, { json: streamed, headers: { "last-event-id": first?.id ?? "" } }),
      () => fake.request(`/v1/turns/${chatTurn}/events?attach=1`),
      () => fake.request(`/v1/responses/${id}`),
      () => fake.request(`/v1/responses/${id}?stream=true`),
      () => fake.request(`/v1/responses/${id}?stream=true&starting_after=3`),
    ];
    for (const come of ways) {
      await fake.clock.advance(1_200_000);
      const expires = Date.parse((await come()).headers.get("x-millrace-expires") ?? "");
      expect(expires - fake.clock.now()).toBe(7_200_000);
    }
  });

  it("shows a caller nothing of another caller's turn, not even that it has expired", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const [, second] = await (await openStream(fake)).reader.rest();
    const turnId = fake.turns.turnId(0);
    const never = `turn_${"0".repeat(26)}`;
    await fake.clock.advance(3 * 3_600_000);
    const asked = async (id: string, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      const cursor = (second?.id ?? "").replace(turnId, id);
      const responses = [
        await fake.request(path, { json: streamed, headers: { ...headers, "last-event-id": cursor } }),
        await fake.request(`/v1/turns/${id}`, { headers }),
        await fake.request(`/v1/turns/${id}/events`, { headers }),
        await fake.request(`/v1/turns/${id}/cancel`, { method: "POST", headers }),
        await fake.request(`/dashboard/api/turns/${id}/timeline`, { headers }),
      ];
      const said = async (response: Response) =>
        (await response.text()).replaceAll(/req_\w+/g, "req").replaceAll(id, "id");
      return Promise.all(responses.map(async (response) => [response.status, await said(response)]));
    };
    const guest = `Bearer ${guestKey}`;
    expect(await asked(turnId, guest)).toEqual(await asked(never, guest));
    expect((await asked(turnId)).map(([status]) => status)).toEqual([410, 410, 410, 410, 410]);
  });
});
