import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import { isTerminal, type TurnEventBody } from "../log/event.ts";
import { type Backends, eventsOf, type Prompt, type StopReason } from "./backend.ts";
import { promptFor } from "./prompt.fake.ts";
import { replay } from "./replay.fake.ts";

/** How the server behind a harness answers from now on. */
export type NextAnswer =
  | { readonly text: string }
  /** The text, then nothing more until the turn is cancelled. */
  | { readonly text: string; readonly holds: true }
  /** No answer: the server refuses the prompt, or ends the turn with an error. */
  | { readonly refuses: "in the call" | "in the answer" };

/** One kind of backend over one server, real or not. */
export interface BackendHarness {
  readonly backends: Backends;
  answer(next: NextAnswer): Promise<void>;
  /** Since the server started: prompts it accepted, and cancelled and archived trajectories, each once per call. */
  counts(): Promise<{
    readonly accepted: number;
    readonly cancels: readonly string[];
    readonly archives: readonly string[];
  }>;
  close(): Promise<void>;
}

/** The abilities of a kind of backend; cases that need more are skipped for that reason. */
export interface BackendCapabilities {
  /** A turn is a trajectory on the server, which can be cancelled, archived, resumed and continued. */
  readonly trajectories: boolean;
  /** A model that the server behind the harness has. */
  readonly modelUid?: string;
  /** `counts().archives` counts only conversations that exist: none without a prompt, and none a second time. */
  readonly archivesStoredOnly?: boolean;
}

const anyPrompt = promptFor("claude-opus-4-7-medium");

/** The promises of every backend. Source: the contract in `backend.ts`. */
export function describeBackend(
  name: string,
  capabilities: BackendCapabilities,
  open: () => Promise<BackendHarness>,
): void {
  describe(`backend: ${name}`, () => {
    let harness: BackendHarness;
    beforeAll(async () => {
      harness = await open();
    });
    afterAll(async () => {
      await harness.close();
    });

    const { modelUid = anyPrompt.modelUid } = capabilities;
    const prompt = { ...anyPrompt, modelUid: modelUid as ModelUid }; // as a catalogue would give it
    const options = { keep: false, onAlive: () => {} };
    const start = async (asked: Partial<Prompt> = {}, run: Partial<typeof options> = {}) => {
      const controller = new AbortController();
      const backend = await harness.backends.choose(prompt, controller.signal);
      const events = backend.run({ ...prompt, ...asked }, { ...options, ...run }, controller.signal);
      const stop = (reason: StopReason) => controller.abort(reason);
      return { backend, stop, events: eventsOf(events) };
    };
    const rest = async (events: AsyncIterable<TurnEventBody>) => {
      const all: TurnEventBody[] = [];
      for await (const event of events) all.push(event);
      return all;
    };
    const untilText = async (events: AsyncGenerator<TurnEventBody, void>) => {
      const seen: TurnEventBody[] = [];
      for (let next = await events.next(); !next.done; next = await events.next()) {
        seen.push(next.value);
        if (next.value.type === "text") return seen;
      }
      throw new Error("the turn ended before any text");
    };
    const startedOf = (event: TurnEventBody | undefined | void) => {
      if (event?.type !== "started") throw new Error("the turn did not begin with `started`");
      return event;
    };
    const cascadeOf = (event: TurnEventBody | undefined | void) => startedOf(event).cascadeId as CascadeId;

    test("a turn is `started`, deltas, usage and one terminal event, for one prompt", async () => {
      await harness.answer({ text: "Hello there, friend." });
      const before = await harness.counts();
      let alive = 0;
      const { events } = await start({}, { onAlive: () => alive++ });
      const all = await rest(events);
      expect(all[0]).toMatchObject({ type: "started", modelUid: prompt.modelUid, ide: "windsurf" });
      expect(all.at(-1)).toMatchObject({
        type: "finished",
        reason: { unified: "stop" },
        text: "Hello there, friend.",
      });
      expect(all.filter(isTerminal)).toHaveLength(1);
      expect(all.filter((event) => event.type === "started")).toHaveLength(1);
      expect(all.filter((event) => event.type === "usage")).toHaveLength(1);
      expect(replay(all).text).toBe("Hello there, friend.");
      expect(alive).toBeGreaterThan(0);
      expect((await harness.counts()).accepted - before.accepted).toBe(1);
    });

    test("nothing is sent until the event after `started` is asked for", async () => {
      await harness.answer({ text: "Now." });
      const before = await harness.counts();
      const { events } = await start();
      startedOf((await events.next()).value);
      expect((await harness.counts()).accepted).toBe(before.accepted);
      await rest(events);
      expect((await harness.counts()).accepted - before.accepted).toBe(1);
    });

    test("nothing is sent when the consumer never asks for more", async () => {
      const before = await harness.counts();
      const { events } = await start();
      startedOf((await events.next()).value);
      await events.return();
      expect((await harness.counts()).accepted).toBe(before.accepted);
    });

    test("a refusal is a `failed`, and the only terminal event", async () => {
      for (const refuses of ["in the call", "in the answer"] as const) {
        await harness.answer({ refuses });
        const { events } = await start();
        const all = await rest(events);
        expect(all.filter(isTerminal)).toEqual([expect.objectContaining({ type: "failed" })]);
        expect(all.at(-1)).toMatchObject({ type: "failed" });
      }
    });

    test("a cancel ends the turn without a terminal event", async () => {
      await harness.answer({ text: "Hold on", holds: true });
      const { events, stop } = await start();
      await untilText(events);
      const pending = rest(events);
      stop("cancel");
      expect((await pending).filter(isTerminal)).toEqual([]);
    });

    test("a signal that aborts before `started` ends the turn with nothing", async () => {
      const before = await harness.counts();
      const { events, stop } = await start();
      stop("cancel");
      expect(await rest(events)).toEqual([]);
      expect((await harness.counts()).accepted).toBe(before.accepted);
    });

    test.skipIf(!capabilities.trajectories)(
      "every trajectory is archived: after an answer, an error, a cancel, and a consumer that left",
      async () => {
        const archivedAfter = async (end: (turn: Awaited<ReturnType<typeof start>>) => Promise<unknown>) => {
          const turn = await start();
          const cascadeId = cascadeOf((await turn.events.next()).value);
          await end(turn);
          return (await harness.counts()).archives.filter((archived) => archived === cascadeId).length;
        };
        await harness.answer({ text: "Fine." });
        expect(await archivedAfter((turn) => rest(turn.events))).toBe(1);
        expect(await archivedAfter((turn) => turn.events.return())).toBe(
          capabilities.archivesStoredOnly === true ? 0 : 1,
        );
        await harness.answer({ refuses: "in the call" });
        expect(await archivedAfter((turn) => rest(turn.events))).toBe(capabilities.archivesStoredOnly === true ? 0 : 1);
        await harness.answer({ text: "Hold on", holds: true });
        const leaves = async (turn: Awaited<ReturnType<typeof start>>) => {
          await untilText(turn.events);
          await turn.events.return();
        };
        expect(await archivedAfter(leaves)).toBe(1);
      },
    );

    test.skipIf(!capabilities.trajectories)("a cancel reaches the server", async () => {
      await harness.answer({ text: "Hold on", holds: true });
      const { events, stop } = await start();
      const cascadeId = cascadeOf((await untilText(events))[0]);
      const pending = rest(events);
      stop("cancel");
      await pending;
      const { cancels, archives } = await harness.counts();
      expect(cancels.filter((id) => id === cascadeId)).toHaveLength(1);
      expect(archives.filter((id) => id === cascadeId)).toHaveLength(1);
    });

    test.skipIf(!capabilities.trajectories)(
      "a detach changes nothing upstream, and the turn resumes from there with the same prompt",
      async () => {
        await harness.answer({ text: "Going on and on", holds: true });
        const before = await harness.counts();
        const first = await start();
        const seen = await untilText(first.events);
        const cascadeId = cascadeOf(seen[0]);
        const pending = rest(first.events);
        first.stop("detach");
        seen.push(...(await pending));
        const between = await harness.counts();
        expect(between.archives).not.toContain(cascadeId);
        expect(between.cancels).not.toContain(cascadeId);

        const controller = new AbortController();
        const from = { cascadeId, ...replay(seen) };
        const resumed = first.backend.resume(prompt, from, options, controller.signal);
        const events = eventsOf(resumed);
        while (replay(seen).text !== "Going on and on") {
          const next = await events.next();
          if (next.done) throw new Error("the resumed turn ended too early");
          seen.push(next.value);
        }
        const ending = rest(events);
        controller.abort("cancel");
        await ending;
        expect(seen.filter((event) => event.type === "started")).toHaveLength(1);
        const after = await harness.counts();
        expect(after.accepted - before.accepted).toBe(1);
        expect(after.archives.filter((id) => id === cascadeId)).toHaveLength(1);
      },
    );

    test.skipIf(!capabilities.trajectories)(
      "a trajectory whose turn is lost is stopped where it still works, and archived",
      async () => {
        await harness.answer({ text: "Going on and on", holds: true });
        const { events, stop, backend } = await start();
        const cascadeId = cascadeOf((await untilText(events))[0]);
        const pending = rest(events);
        stop("detach");
        await pending;
        for (const _ of ["works", "is idle"]) await backend.archive(cascadeId, new AbortController().signal);
        const { cancels, archives } = await harness.counts();
        expect(cancels.filter((id) => id === cascadeId)).toHaveLength(1);
        expect(archives.filter((id) => id === cascadeId)).toHaveLength(
          capabilities.archivesStoredOnly === true ? 1 : 2,
        );
      },
    );

    test.skipIf(!capabilities.trajectories)(
      "a turn whose prompt was never sent is resumed by sending it, once",
      async () => {
        await harness.answer({ text: "Late but whole." });
        const before = await harness.counts();
        const { events, stop, backend } = await start();
        const cascadeId = cascadeOf((await events.next()).value);
        stop("detach");
        await events.return();
        const from = { cascadeId, text: "", thinking: "" };
        const all = await rest(eventsOf(backend.resume(prompt, from, options, new AbortController().signal)));
        expect(all.at(-1)).toMatchObject({ type: "finished", text: "Late but whole." });
        expect((await harness.counts()).accepted - before.accepted).toBe(1);
      },
    );

    test.skipIf(!capabilities.trajectories)(
      "a turn that the server does not know any more fails, and is not sent again",
      async () => {
        const before = await harness.counts();
        const backend = await harness.backends.choose(prompt, new AbortController().signal);
        const from = { cascadeId: "00000000-0000-4000-8000-000000000000" as CascadeId, text: "So far", thinking: "" };
        const all = await rest(eventsOf(backend.resume(prompt, from, options, new AbortController().signal)));
        expect(all).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
        expect((await harness.counts()).accepted).toBe(before.accepted);
      },
    );

    test.skipIf(!capabilities.trajectories)(
      "a kept trajectory takes the next turn, which shows nothing of the first",
      async () => {
        await harness.answer({ text: "First answer." });
        const first = await rest((await start({}, { keep: true })).events);
        const cascadeId = cascadeOf(first[0]);
        expect((await harness.counts()).archives).not.toContain(cascadeId);
        await harness.answer({ text: "Second answer." });
        const second = await rest((await start({ text: "And now?", continues: cascadeId })).events);
        expect(second[0]).toMatchObject({ type: "started", cascadeId });
        expect(startedOf(second[0]).fromStep).toBeGreaterThan(0);
        expect(replay(second).text).toBe("Second answer.");
        expect((await harness.counts()).archives.filter((id) => id === cascadeId)).toHaveLength(1);
      },
    );

    test.skipIf(!capabilities.trajectories)("a continued turn is resumed past the turn before it", async () => {
      await harness.answer({ text: "First answer." });
      const first = await rest((await start({}, { keep: true })).events);
      const cascadeId = cascadeOf(first[0]);
      await harness.answer({ text: "Second answer." });
      const { events, stop, backend } = await start({ continues: cascadeId });
      const { fromStep } = startedOf((await events.next()).value);
      stop("detach");
      await events.return();
      const from = { cascadeId, text: "", thinking: "", ...(fromStep === undefined ? {} : { fromStep }) };
      const again = { ...prompt, continues: cascadeId };
      const all = await rest(eventsOf(backend.resume(again, from, options, new AbortController().signal)));
      expect(replay(all).text).toBe("Second answer.");
      expect(all.at(-1)).toMatchObject({ type: "finished", text: "Second answer." });
    });
  });
}
