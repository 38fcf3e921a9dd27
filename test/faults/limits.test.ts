import { expect, it } from "vitest";
import { main as run } from "../../src/cli/main.ts";
import { fakeIo } from "../../src/cli/terminal/io.fake.ts";
import { ask, patienceMs, world } from "../support/world.ts";

const hourMs = 3_600_000;

/** What a refused request says. */
async function refusal(request: Promise<unknown>) {
  const error = (await request.catch((thrown: unknown) => thrown)) as {
    status?: number;
    message?: string;
    error?: { resets_at?: string };
  }; // read below
  return {
    status: error.status,
    message: error.message ?? "",
    resetsInS: (Date.parse(error.error?.resets_at ?? "") - Date.now()) / 1000,
  };
}

it("a refusal ends when the server says that the limit does, not after a minute", async () => {
  const { ide, client } = await world({
    simulator: { plan: { messages: { max: 1, windowMs: hourMs } }, turn: { rate: "instant" } },
  });
  await client.chat.completions.create(ask("echo: one"));
  // The error's own text names three hours; the server's answer of one hour counts.
  expect(await refusal(client.chat.completions.create(ask("echo: two")))).toMatchObject({ status: 429 });
  const asked = (await ide.report()).messages.length;
  const third = await refusal(client.chat.completions.create(ask("echo: three")));
  expect(third.message).toContain("asks the IDE's server, without a prompt, whether the limit has ended");
  const secondsLeft = third.resetsInS;
  expect(secondsLeft).toBeGreaterThan(hourMs / 1000 - 120);
  expect(secondsLeft).toBeLessThan(hourMs / 1000 + 120); // rounded to whole seconds on its way
  expect((await ide.report()).messages).toHaveLength(asked);

  await ide.setPlan({ messages: { max: 9, windowMs: hourMs } }); // lifted early: the next look finds it
  const answer = () =>
    client.chat.completions.create(ask("echo: four")).then(({ choices }) => choices[0]?.message.content);
  await expect.poll(() => answer().catch(() => undefined), { timeout: patienceMs, interval: 1_000 }).toBe("four");
  expect((await ide.report()).messages).toHaveLength(asked + 1);
});

it("usage shows how many messages are left, where the server says it", async () => {
  const { home, client } = await world({
    simulator: { plan: { messages: { max: 8, windowMs: hourMs } }, turn: { rate: "instant" } },
  });
  await client.chat.completions.create(ask("echo: one"));
  const env = { MILLRACE_IDE_ONLY_HOME: home, PATH: process.env["PATH"] ?? "" };
  const usage = async (...argv: readonly string[]) => {
    const io = fakeIo({ homeFolder: home, env });
    expect(await run(["usage", ...argv], io)).toBe(0);
    return io.written.stdout();
  };
  const { data } = JSON.parse(await usage("--json")) as { readonly data: readonly { readonly windows: unknown }[] };
  const messages = expect.objectContaining({ id: "model-messages", unit: "messages", limit: 8 }) as unknown;
  expect(data[0]?.windows).toEqual(expect.arrayContaining([messages]));
  expect(await usage("--models")).toContain("Messages to Claude Sonnet 4.6");
});

it("a weekly quota that is used up names its window and its reset", async () => {
  const plan = { shape: "percent", used: 10, usedWeekly: 100 } as const;
  const { client } = await world({ simulator: { plan, turn: { rate: "instant" } } });
  const beganMs = Date.now();
  const error = (await client.chat.completions.create(ask("hi")).catch((thrown: unknown) => thrown)) as {
    readonly error?: { readonly resets_at?: string };
  }; // an SDK error, with the body
  expect(error).toMatchObject({
    status: 429,
    code: "insufficient_quota",
    message: expect.stringContaining("weekly usage quota"),
  });
  const toReset = Date.parse(error.error?.resets_at ?? "") - beganMs;
  expect(Math.abs(toReset - (5 + 4 * 24) * hourMs)).toBeLessThan(patienceMs);
});
