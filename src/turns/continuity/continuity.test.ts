import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import { idle } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { openMemoryLog } from "../../log/memory-log.fake.ts";
import type { TurnRequest } from "../../log/request.ts";
import { newTurn } from "../../log/turn.fake.ts";
import { assistant, bash, fakeRequest, readFile, system, toolResult, user } from "../prompt/request.fake.ts";
import { Continuity } from "./continuity.ts";
import { openRecall } from "./recall.ts";
import type { VisibleAnswer } from "./visible-history.ts";

const idleMs = 60_000;

function fakeContinuity(limit = 32) {
  const clock = new FakeClock();
  const archived: string[] = [];
  const continuity = new Continuity({
    clock,
    idleMs,
    limit,
    archive: (cascadeId) => {
      archived.push(cascadeId);
      return Promise.resolve();
    },
  });
  return { clock, archived, continuity };
}

const id = (n: number) => `cascade-${n}` as CascadeId;
const asker = (fields: Partial<TurnRequest>, session: string | undefined = "s", modelUid = "m") => ({
  request: fakeRequest(fields),
  modelUid,
  caller: "me",
  session,
});
const callId = `call_${"0".repeat(24)}`; // the form of those that an agent waits for
const said = (text: string): VisibleAnswer => ({ text, calls: [] });

describe("Continuity", () => {
  it("keeps the newest trajectories; the oldest make room and are archived, and a stop waits until all others are", async () => {
    const archived: string[] = [];
    const gate = Promise.withResolvers<void>();
    const archive = async (cascadeId: CascadeId, isStop: boolean) => {
      if (isStop) await gate.promise;
      archived.push(cascadeId);
    };
    const continuity = new Continuity({ clock: new FakeClock(), idleMs, limit: 2, archive });
    for (const n of [1, 2, 3]) continuity.keep(asker({ messages: [user(`Hello ${n}`)] }), id(n), said("Hi."));
    expect(archived).toEqual([id(1)]);
    const after = (n: number) => asker({ messages: [user(`Hello ${n}`), assistant("Hi."), user("Bye")] });
    expect([1, 2, 3].map((n) => continuity.knows(after(n)))).toEqual([false, true, true]);
    let isClosed = false;
    const closing = continuity.close().then(() => (isClosed = true));
    await idle();
    expect([isClosed, archived.length]).toEqual([false, 1]);
    gate.resolve();
    await closing;
    expect(archived).toEqual([id(1), id(2), id(3)]);
  });

  it("continues where the visible history is exactly what the trajectory holds", () => {
    const { continuity } = fakeContinuity();
    const first = asker({ messages: [user("Hello")] });
    expect(continuity.choose(first)).toMatchObject({ type: "rebuild", reason: "first" });
    continuity.keep(first, id(1), said("Hi."));
    const second = asker({ messages: [user("Hello"), assistant("Hi."), user("Bye")] });
    expect(continuity.choose(second)).toEqual({ type: "reuse", cascadeId: id(1), heldMessages: 2 });
  });

  it("continues after tool calls, for any change of ids and white space by the client", () => {
    const { continuity } = fakeContinuity();
    const first = asker({ messages: [user("Look")], tools: [bash] });
    continuity.keep(first, id(1), {
      text: "Looking.",
      calls: [{ callId: "ours", name: "bash", arguments: '{ "command": "ls" }' }],
    });
    const answer = assistant("Looking.\n", [{ id: "theirs", name: "bash", arguments: { command: "ls" } }]);
    const second = asker({ messages: [user("Look"), answer, toolResult("theirs", "a.txt")], tools: [bash] });
    expect(continuity.choose(second)).toMatchObject({ type: "reuse", heldMessages: 2 });
  });

  it("continues where a client shows one answer as several messages, as an answer that paused to think has several items", () => {
    const { continuity } = fakeContinuity();
    const first = asker({ messages: [user("Look")], tools: [bash] });
    const call = { name: "bash", arguments: '{"command":"ls"}' };
    continuity.keep(first, id(1), { text: "One. Two.", calls: [{ callId: "a", ...call }] });
    const items = [
      assistant("One. "),
      assistant("Two."),
      assistant("", [{ id: "a", ...call, arguments: { command: "ls" } }]),
    ];
    const second = asker({ messages: [user("Look"), ...items, toolResult("a", "a.txt")], tools: [bash] });
    expect(continuity.choose(second)).toMatchObject({ type: "reuse", heldMessages: 4 });
  });

  it("says what differs when it does not continue", () => {
    const history = [system("Be brief."), user("Hello")];
    const next = [...history, assistant("Hi."), user("Bye")];
    const cases: readonly [string, ReturnType<typeof asker>][] = [
      ["history_changed", asker({ messages: [system("Be brief."), user("Hallo"), assistant("Hi."), user("Bye")] })],
      ["history_changed", asker({ messages: [...history, assistant("Ho."), user("Bye")] })],
      ["instructions_changed", asker({ messages: [system("Be long."), ...next.slice(1)] })],
      ["tools_changed", asker({ messages: next, tools: [readFile] })],
      ["model_changed", asker({ messages: next }, "s", "another")],
      ["unknown_history", asker({ messages: next }, "another session")],
      ["unknown_history", { ...asker({ messages: next }), caller: "somebody else" }],
    ];
    for (const [reason, wanted] of cases) {
      const { continuity } = fakeContinuity();
      continuity.keep(asker({ messages: history }), id(1), said("Hi."));
      expect([reason, continuity.choose(wanted)]).toMatchObject([reason, { type: "rebuild", reason }]);
    }
  });

  it("continues with other tools where a prompt waits for results, and says that they changed if that does not work", () => {
    const { continuity } = fakeContinuity();
    const first = asker({ messages: [user("Look")], tools: [bash] });
    const next = (callId: string) => {
      const answer = assistant("", [{ id: callId, name: "bash", arguments: { command: "ls" } }]);
      const messages = [user("Look"), answer, toolResult(callId, "a.txt")];
      return asker({ messages, tools: [bash, readFile] });
    };
    const calls = [{ callId, name: "bash", arguments: '{"command":"ls"}' }];
    continuity.keep(first, id(1), { text: "", calls });
    expect(continuity.choose(next(callId))).toMatchObject({
      type: "reuse",
      cascadeId: id(1),
      without: "tools_changed",
    });
    continuity.release(id(1));
    continuity.keep(first, id(2), { text: "", calls });
    expect(continuity.choose(next("of the client's"))).toMatchObject({ type: "rebuild", reason: "tools_changed" });
  });

  it("does not mind what clients write anew into their system text each time", () => {
    const text = (date: string, status: string) =>
      `You are a CLI.\n<env>\nToday's date: ${date}\n</env>\nThe current time is ${date}.\n\ngitStatus: on main\n${status}`;
    const { continuity } = fakeContinuity();
    continuity.keep(asker({ messages: [system(text("1 May", "M a")), user("Hello")] }), id(1), said("Hi."));
    const messages = [system(text("2 May", "M b")), user("Hello"), assistant("Hi."), user("Bye")];
    expect(continuity.choose(asker({ messages })).type).toBe("reuse");
  });

  it("gives a trajectory to one of two requests that come at once", () => {
    const { continuity } = fakeContinuity();
    continuity.keep(asker({}), id(1), said("Hi."));
    const next = asker({ messages: [user("Hello"), assistant("Hi."), user("Bye")] });
    expect(continuity.choose(next).type).toBe("reuse");
    expect(continuity.choose(next)).toMatchObject({ type: "rebuild", reason: "busy" });
  });

  it("archives a prompt that waits for results which do not come in time; no other part ends it", async () => {
    const { continuity, clock, archived } = fakeContinuity();
    continuity.keep(asker({}), id(1), { text: "", calls: [{ callId, name: "bash", arguments: "{}" }] });
    await clock.advance(idleMs * 0.9);
    expect(archived).toEqual([]);
    await clock.advance(idleMs * 0.2);
    expect(archived).toEqual([id(1)]);
    await continuity.close();
  });

  it("archives trajectories that were not continued in time, and the rest when it closes", async () => {
    const { continuity, clock, archived } = fakeContinuity();
    continuity.keep(asker({}), id(1), said("Hi."));
    await clock.advance(idleMs / 2);
    continuity.keep(asker({}), id(2), said("Ho."));
    await clock.advance(idleMs * 0.75);
    expect(archived).toEqual([id(1)]);
    await continuity.close();
    expect(archived).toEqual([id(1), id(2)]);
  });

  it.each([3_600_000, -3_600_000])("keeps trajectories as long where the wall clock jumps by %d ms", async (jumpMs) => {
    const { continuity, clock, archived } = fakeContinuity();
    continuity.keep(asker({}), id(1), said("Hi."));
    clock.jump(jumpMs);
    await clock.advance(idleMs * 0.9);
    expect(archived).toEqual([]);
    await clock.advance(idleMs);
    expect(archived).toEqual([id(1)]);
    await continuity.close();
  });

  it("notes that a trajectory is no longer kept if it cannot be archived, so that it is not left for minutes", async () => {
    const notes: string[] = [];
    const note = (what: string) => (cascadeId: CascadeId) => void notes.push(`${what} ${cascadeId}`);
    const clock = new FakeClock();
    const continuity = new Continuity({
      clock,
      idleMs,
      archive: () => Promise.reject(new Error("it did not work")),
      notes: { kept: async (cascadeId) => note("kept")(cascadeId), taken: note("taken") },
    });
    continuity.keep(asker({}), id(1), said("Hi."));
    await clock.advance(idleMs * 1.5);
    expect(notes).toEqual(["kept cascade-1", "taken cascade-1"]);
    await continuity.close();
  });

  it("never gives a trajectory to two turns, reuses only equal histories, and archives each once, for any events", async () => {
    const act = fc.record({
      what: fc.constantFrom("ask", "finish", "fail", "wait"),
      which: fc.nat(2),
      word: fc.constantFrom("a", "b"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const { continuity, clock, archived } = fakeContinuity(3);
        const holds = new Map<CascadeId, string>();
        const running: { asker: ReturnType<typeof asker>; cascadeId: CascadeId; words: string[] }[] = [];
        const talks: string[][] = [["a"], ["a"], ["b"]];
        let made = 0;
        const wrong: string[] = [];
        for (const { what, which, word } of acts) {
          if (what === "ask") {
            const words = [...(talks[which] ?? []), word];
            const messages = words.flatMap((text, index) =>
              index === words.length - 1 ? [user(text)] : [user(text), assistant(`${text}!`)],
            );
            const wanted = asker({ messages });
            const choice = continuity.choose(wanted);
            const cascadeId = choice.type === "reuse" ? choice.cascadeId : id(++made);
            if (choice.type === "reuse" && holds.get(cascadeId) !== JSON.stringify(words.slice(0, -1)))
              wrong.push("other history");
            if (running.some((turn) => turn.cascadeId === cascadeId)) wrong.push("given twice");
            if (archived.includes(cascadeId)) wrong.push("archived before");
            running.push({ asker: wanted, cascadeId, words });
          } else if (what === "wait") await clock.advance(idleMs / 2);
          else {
            const turn = running.splice(which % Math.max(1, running.length), 1)[0];
            if (turn === undefined) continue;
            if (what === "fail") continuity.release(turn.cascadeId);
            else {
              continuity.keep(turn.asker, turn.cascadeId, said(`${turn.words.at(-1)}!`));
              holds.set(turn.cascadeId, JSON.stringify(turn.words));
              talks[which] = turn.words;
            }
            if (what === "fail") archived.push(turn.cascadeId); // the backend does, at the end of a turn that failed
          }
        }
        for (const turn of running) {
          continuity.release(turn.cascadeId);
          archived.push(turn.cascadeId);
        }
        await continuity.close();
        expect(wrong).toEqual([]);
        expect([...archived].sort()).toEqual(Array.from({ length: made }, (_, n) => id(n + 1)).sort());
      }),
      { numRuns: 60 },
    );
  });
});

const cascadeId = "acp:devin:one" as CascadeId; // a made-up id
const started: TurnEventBody = {
  type: "started",
  modelUid: "m" as ModelUid,
  backend: "acp",
  cascadeId,
  tools: "native",
};
const call: TurnEventBody = {
  type: "tool_call",
  callId,
  name: "bash",
  argumentsDelta: '{"command":"ls"}',
  done: true,
};
const ended = (raw: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "tool_calls", raw },
  text: "Looking.",
});
const first = fakeRequest({ messages: [user("Look")], tools: [bash] });
const called = assistant("Looking.", [{ id: callId, name: "bash", arguments: { command: "ls" } }]);

/** A log with a turn that ended like that, and a gateway that knows nothing of it. */
async function left(raw: string, owner = "gone", told: (continuity: Continuity) => void = () => {}, later = 0) {
  const clock = new FakeClock();
  const store = openMemoryLog({ clock });
  const { writer } = await store.create(newTurn({ request: first, modelUid: "m", caller: "me", session: "s" }), owner);
  await writer?.append([started, { type: "text", delta: "Looking." }, call, ended(raw)], clock.now());
  for (let n = 0; n < later; n++) {
    await clock.advance(1);
    const request = fakeRequest({ messages: [user(`Look at ${n}`)] });
    await store.create(newTurn({ request, modelUid: "m", caller: "me", session: "s" }), "gone");
  }
  const continuity = new Continuity({ clock, idleMs: 60_000, archive: async () => {} });
  told(continuity);
  const recall = openRecall({ store, continuity, clock, owner: "here" });
  const choose = async (messages = [user("Look"), called, toolResult(callId, "a.txt")], caller = "me") => {
    const asker = { request: fakeRequest({ messages, tools: [bash] }), modelUid: "m", caller, session: "s" };
    await recall(asker);
    return continuity.choose(asker);
  };
  return { clock, choose, continuity };
}

it("results go to the prompt that an ended process left waiting for them, once", async () => {
  const { choose } = await left("parked");
  expect(await choose()).toMatchObject({ type: "reuse", cascadeId });
  expect(await choose()).toMatchObject({ type: "rebuild", reason: "busy" });
});

it("results find the prompt that waits for them behind hundreds of later turns of other clients", async () => {
  const { choose } = await left("parked", "gone", undefined, 400);
  expect(await choose()).toMatchObject({ type: "reuse", cascadeId });
});

it("a conversation that has gone on here is not set back by the turn that an ended process left", async () => {
  const results = [user("Look"), called, toolResult(callId, "a.txt")];
  const later = asker({ messages: results, tools: [bash] });
  for (const other of [user("Look"), user("Listen")]) {
    const { choose, continuity } = await left("parked", "gone", (known) =>
      known.keep(later, cascadeId, { text: "Done.", calls: [] }),
    );
    expect(await choose([other, called, toolResult(callId, "a.txt")])).toMatchObject({ type: "rebuild" });
    const next = asker({ messages: [...results, assistant("Done."), user("Bye")], tools: [bash] });
    expect(continuity.choose(next)).toMatchObject({ type: "reuse", cascadeId });
  }
});

it("every other request is laid out anew", async () => {
  const { choose, clock } = await left("parked");
  const results = toolResult(callId, "a.txt");
  expect(await choose([user("Look"), called, user("Stop")])).toMatchObject({ type: "rebuild" });
  expect(await choose([user("Look here"), called, results])).toMatchObject({ type: "rebuild" });
  expect(await choose(undefined, "somebody else")).toMatchObject({ type: "rebuild" });
  await clock.advance(21 * 60_000); // the agent has got an error in place of the results
  expect(await choose()).toMatchObject({ type: "rebuild" });
});

it("a turn whose prompt has ended, or that this gateway runs, is left alone", async () => {
  expect(await (await left("end_turn")).choose()).toMatchObject({ type: "rebuild" });
  expect(await (await left("parked", "here")).choose()).toMatchObject({ type: "rebuild" });
});
