import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import { openCascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import type { Backend, Batch, Prompt, RunOptions } from "../backend.ts";
import { backendOf } from "./prompt-route.ts";

const id = "acp:opencode:s1" as CascadeId;
const prompt: Prompt = {
  modelUid: "opencode/mock/m1" as ModelUid,
  modelNumber: undefined,
  instructions: "",
  text: "Hello",
  messages: [],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text",
};

function noted(end: "finished" | "failed", discards = true) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const journal = openCascadeJournal(join(folder, "cascades.jsonl"));
  const archived: CascadeId[] = [];
  async function* batches(): AsyncGenerator<Batch> {
    yield [{ type: "started", modelUid: prompt.modelUid, backend: "acp", cascadeId: id }];
    if (end === "finished") yield [{ type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi." }];
    else yield [{ type: "failed", error: { code: "upstream_failed", message: "no", hint: "" } }];
  }
  async function* ended({ onLeft }: RunOptions): AsyncGenerator<Batch> {
    yield* batches();
    if (!discards) onLeft?.(id);
  }
  const run: Backend["run"] = (_, options) => ended(options);
  const resume: Backend["resume"] = (_, __, options) => ended(options);
  const inner: Backend = { kind: "acp", run, resume, archive: async (cascadeId) => void archived.push(cascadeId) };
  return {
    journal,
    archived,
    backend: backendOf({
      backend: inner,
      agent: "opencode",
      journal: { ...journal, owner: "me", clock: new FakeClock() },
    }),
  };
}

const left = async ({ journal }: ReturnType<typeof noted>) => (await journal.left()).map(({ cascadeId }) => cascadeId);

it.each([
  ["finished and kept for the next turn", "finished", true, [id]],
  ["finished", "finished", false, []],
  ["failed", "failed", true, []],
] as const)(
  "a conversation is noted before its backend continues to send the prompt; once its turn %s it is left or not",
  async (_, end, keep, rest) => {
    const fake = noted(end);
    const { signal } = new AbortController();
    const whileTold: (readonly CascadeId[])[] = [];
    for await (const _ of fake.backend.run(prompt, { keep, onAlive: () => {} }, signal))
      whileTold.push(await left(fake));
    expect(whileTold[1]).toEqual([id]);
    expect(await left(fake)).toEqual(rest);
  },
);

it("a detached turn leaves its conversation to the next process", async () => {
  const fake = noted("failed");
  const stop = new AbortController();
  for await (const [event] of fake.backend.run(prompt, { keep: true, onAlive: () => {} }, stop.signal)) {
    if (event?.type !== "started") continue;
    stop.abort("detach");
    break;
  }
  expect(await left(fake)).toEqual([id]);
});

it("a conversation that its agent did not discard is left, until it is archived", async () => {
  const fake = noted("finished", false);
  const { signal } = new AbortController();
  for await (const _ of fake.backend.run(prompt, { keep: false, onAlive: () => {} }, signal)) continue;
  expect(await left(fake)).toEqual([id]);
  await fake.backend.archive(id, signal);
  expect(await left(fake)).toEqual([]);
});

it("a conversation whose turn was stopped before it was told, and that could not be discarded, is left", async () => {
  const fake = noted("finished");
  async function* stopped(_: Prompt, { onLeft }: RunOptions): AsyncGenerator<Batch> {
    onLeft?.(id);
    yield* [];
  }
  const inner = { kind: "acp", run: stopped, archive: async () => {} } as unknown as Backend; // nothing else of it is used
  const journal = { ...fake.journal, owner: "me", clock: new FakeClock() };
  const backend = backendOf({ backend: inner, agent: "opencode", journal });
  for await (const _ of backend.run(prompt, { keep: false, onAlive: () => {} }, AbortSignal.abort("cancel"))) continue;
  expect(await left(fake)).toEqual([id]);
});

it("an archived conversation is not left", async () => {
  const fake = noted("finished");
  const { signal } = new AbortController();
  for await (const _ of fake.backend.run(prompt, { keep: true, onAlive: () => {} }, signal)) continue;
  await fake.backend.archive(id, signal);
  expect([await left(fake), fake.archived]).toEqual([[], [id]]);
});
