import { beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../base/secret.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import { turnPageSchema } from "../../usage/turn-page-envelope.ts";
import { fakeGateway, fakeKey, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { showTexts, signedIn } from "./signed-in.fake.ts";

const path = "/dashboard/api/texts";
type Headers = Readonly<Record<string, string>>;

let fake: ReturnType<typeof fakeGateway>;
const areShown = async (headers: Headers) =>
  ((await (await fake.request(path, { headers })).json()) as { readonly shown: boolean }).shown;

beforeEach(() => {
  fake = fakeGateway();
});

describe("the texts of the dashboard", () => {
  it("are shown in the session whose owner agreed, in no other one, until the owner hides them or signs out", async () => {
    const [one, other] = [await signedIn(fake), await signedIn(fake)];
    expect([await areShown(one), await areShown(other)]).toEqual([false, false]);
    const shown = await fake.request(path, { json: showTexts, headers: one });
    expect(await shown.json()).toEqual({ object: "texts", shown: true, kept_seconds: 7200 });
    expect([await areShown(one), await areShown(other)]).toEqual([true, false]);
    await fake.request(path, { json: { show: false }, headers: one });
    expect(await areShown(one)).toBe(false);
    await fake.request(path, { json: showTexts, headers: one });
    await fake.request("/sign-out", { method: "POST", headers: one });
    expect((await fake.request(path, { headers: one })).status).toBe(401);
    expect(await areShown(await signedIn(fake))).toBe(false);
  });

  it("are shown without a click where the setting says so, and each session can hide them for itself", async () => {
    fake = fakeGateway({ showsTexts: true, keptMs: 86_400_000 });
    const [one, other] = [await signedIn(fake), await signedIn(fake)];
    expect([await areShown(one), await areShown(other), await areShown({})]).toEqual([true, true, false]);
    await fake.request(path, { json: { show: false }, headers: one });
    expect([await areShown(one), await areShown(other)]).toEqual([false, true]);
  });

  it("are not shown without consent in the body, with a key alone, to a guest, or in a session that is over", async () => {
    const session = await signedIn(fake);
    for (const json of [{}, { show: true }, { show: true, consent: false }, { consent: true }])
      expect([json, (await fake.request(path, { json, headers: session })).status]).toEqual([json, 400]);
    expect((await fake.request(path, { json: showTexts })).status).toBe(409);
    const guest = { ...session, authorization: `Bearer ${guestKey}` };
    expect((await fake.request(path, { json: showTexts, headers: guest })).status).toBe(403);
    expect(await areShown(session)).toBe(false);
    await fake.clock.advance(9 * 86_400_000);
    expect((await fake.request(path, { json: showTexts, headers: session })).status).toBe(401);
  });

  it("end at once in what is already open: hidden texts go to no stream any more", async () => {
    const session = await signedIn(fake, true);
    void fake.request("/v1/chat/completions?detach=1", {
      json: { model: "test-model", messages: [{ role: "user", content: "What is a millrace?" }] },
    });
    await expect.poll(() => fake.turns.started.length).toBe(1);
    const turnId = fake.turns.turnId(0);
    const feed = new SseReader(await fake.request("/dashboard/api/turns/feed", { headers: session }));
    await feed.next();
    const timeline = new SseReader(await fake.request(`/dashboard/api/turns/${turnId}/timeline`, { headers: session }));
    fake.turns.emit(turnId, { type: "text", delta: "A channel " });
    const textOf = (event: { readonly data: string } | undefined) => JSON.parse(event?.data ?? "") as unknown;
    expect(textOf(await timeline.next())).toMatchObject({ text: "A channel " });
    const told = feed.next();
    await fake.clock.advance(300);
    expect(textOf(await told)).toMatchObject({ tail: "A channel " });
    await fake.request(path, { json: { show: false }, headers: session });
    fake.turns.emit(turnId, { type: "text", delta: "that feeds a mill." });
    expect(textOf(await timeline.next())).toMatchObject({ characters: 18 });
    const later = feed.next();
    await fake.clock.advance(300);
    expect(textOf(await later)).toMatchObject({ characters: 28 });
    for (const { bytes } of [feed, timeline]) expect(bytes).not.toContain("feeds a mill");
    await Promise.all([feed.cancel(), timeline.cancel()]);
  });

  it("end with the owner's key, as the session does", async () => {
    let key = new Secret(fakeKey);
    fake = fakeGateway({ ownerKey: () => key });
    const session = await signedIn(fake, true);
    expect(await areShown(session)).toBe(true);
    key = new Secret("mr-another-key-0123456789abcdef");
    expect((await fake.request(path, { headers: session })).status).toBe(401);
  });

  it("are the questions in the list of turns too, where the log still has them", async () => {
    const history = openHistory({ file: ":memory:" });
    fake = fakeGateway({ meter: openMeter({ readPlan: () => Promise.resolve([]), history, clock: fake.clock }) });
    fake.turns.script = () => [{ type: "finished", reason: { unified: "stop", raw: undefined }, text: "A channel." }];
    const content = "<environment_context>\n<cwd>/tmp</cwd>\n</environment_context>\nWhat is a millrace?\nBe short.";
    const asked = await fake.request("/v1/chat/completions", {
      json: { model: "test-model", messages: [{ role: "user", content }] },
    });
    const turnId = asked.headers.get("x-millrace-turn") ?? "";
    const endedAtMs = fake.clock.now() - 1;
    for (const id of [turnId, "turn_forgotten"]) history.addTurn(turnFake({ turnId: id, endedAtMs }));
    const questions = async (headers: Headers, query = "") => {
      const page = await fake.request(`/dashboard/api/usage/turns?since=400d${query}`, { headers });
      const { data } = turnPageSchema.parse(await page.json());
      return new Map(data.map(({ id, question }) => [id, question]));
    };
    const seen = await questions(await signedIn(fake, true));
    expect([seen.get(turnId), seen.get("turn_forgotten")]).toEqual(["What is a millrace?", null]);
    for (const headers of [await signedIn(fake), {}])
      expect([...(await questions(headers)).values()]).toEqual([undefined, undefined]);
    history.close();
  });
});
