import { describe, expect, it } from "vitest";
import { type Batch, parkedReason } from "../../backends/backend.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import { exchange } from "../exchange.ts";
import { layoutPrompt } from "../prompt/layout.ts";
import { assistant, bash, fakeModel, fakeRequest, toolResult, user } from "../prompt/request.fake.ts";
import { planAnswer } from "../tools/answer-plan.ts";
import { ScriptedBackend, scriptedCascade } from "../tools/scripted-backend.fake.ts";
import { Continuity } from "./continuity.ts";
import { Conversation } from "./conversation.ts";

const gone: TurnEventBody = {
  type: "failed",
  error: { code: "upstream_failed", message: "trajectory not found", hint: "" },
};

const slow: TurnEventBody = { type: "failed", error: { code: "upstream_timeout", message: "too slow", hint: "" } };

/** A backend whose continued runs fail before anything is sent. */
class ForgetfulBackend extends ScriptedBackend {
  failure = gone;

  override async *run(...[prompt, options]: Parameters<ScriptedBackend["run"]>): AsyncGenerator<Batch, void> {
    if (prompt.continues !== undefined) yield [this.failure];
    else yield* super.run(prompt, options);
  }
}

function talk(backend: ScriptedBackend) {
  const archive = (cascadeId: Parameters<ScriptedBackend["archive"]>[0]) => backend.archive(cascadeId);
  /** What is noted of trajectories, and `end` where the end of a turn is stored, in their order. */
  const order: string[] = [];
  const notes = { kept: async () => void order.push("kept"), taken: () => {} };
  const continuity = new Continuity({ clock: new FakeClock(), idleMs: 1_000, archive, notes });
  /** `detached`: the gateway stops at the moment of the answer's end. `unstored`: the store takes nothing of the turn, or is known to. */
  const ask = async (
    messages: TurnRequest["messages"],
    fields: Partial<TurnRequest> = {},
    how: "stored" | "detached" | "unstored" | "known_unstored" = "stored",
  ) => {
    const stop = new AbortController();
    if (how === "known_unstored") stop.abort("cancel");
    const request = fakeRequest({ messages, ...fields });
    const asker = { request, modelUid: fakeModel.uid, caller: "me", session: "s" };
    const choice = continuity.choose(asker);
    const continues =
      choice.type === "reuse" ? { cascadeId: choice.cascadeId, heldMessages: choice.heldMessages } : undefined;
    const continued = continues === undefined ? undefined : layoutPrompt(request, fakeModel, { continues }).prompt;
    const conversation = new Conversation({ continuity, asker, choice, continued });
    const asking = exchange({
      backend,
      prompt: layoutPrompt(request, fakeModel).prompt,
      run: { keep: false, onAlive: () => {} },
      plan: planAnswer(request, "seed"),
      conversation,
    });
    const events: TurnEventBody[] = [];
    const store = async (batch: readonly TurnEventBody[]) => {
      events.push(...batch);
      if (batch.some(isTerminal)) order.push("end");
      if (how === "detached" && batch.some(isTerminal)) stop.abort("detach");
      if (how === "unstored") stop.abort("cancel");
      if (stop.signal.aborted) return "stopped";
      return batch.some(isTerminal) ? "ended" : "goes_on";
    };
    await asking(store, stop.signal);
    return { how: conversation.travelled, events };
  };
  return { continuity, ask, order };
}

const callId = `call_${"0".repeat(24)}`; // the form of those that an agent waits for
const called: TurnEventBody = { type: "tool_call", callId, name: "bash", argumentsDelta: "{}", done: true };
const parked: TurnEventBody = { type: "finished", reason: { unified: "tool_calls", raw: parkedReason }, text: "" };
const results = [user("Look"), assistant("", [{ id: callId, name: "bash", arguments: {} }]), toolResult(callId, "a")];
const second = [user("Hello"), assistant("Hi."), user("Bye")];

describe("an exchange that continues conversations", () => {
  it("sends only what is new into the trajectory that holds the rest", async () => {
    const backend = new ScriptedBackend("Hi.", "Bye.");
    const { ask, continuity } = talk(backend);
    expect((await ask([user("Hello")])).how).toBe("rebuilt(first)");
    expect((await ask(second)).how).toBe("reused");
    expect(backend.prompts.map(({ text, continues }) => [text, continues])).toEqual([
      ["Hello", undefined],
      ["Bye", scriptedCascade],
    ]);
    expect(backend.archived).toEqual([]);
    expect(continuity.kept).toBe(1);
  });

  it("keeps no trajectory whose turn's end is not in the log, and leaves it to the next gateway", async () => {
    const backend = new ScriptedBackend("Hi.");
    const { ask, continuity } = talk(backend);
    await ask([user("Hello")], {}, "detached");
    await continuity.close();
    expect([continuity.kept, backend.archived]).toEqual([0, []]);
  });

  it("notes that a prompt waits before the log says so: a gateway that dies between the two leaves no orphan", async () => {
    const backend = new ScriptedBackend([
      { type: "finished", reason: { unified: "tool_calls", raw: parkedReason }, text: "" },
    ]);
    const { ask, order } = talk(backend);
    await ask([user("Hello")], {}, "detached");
    expect(order).toEqual(["kept", "end"]);
  });

  it("builds a fresh one when the trajectory is gone, before anything was sent", async () => {
    const backend = new ForgetfulBackend("Hi.", "Bye.");
    const { ask } = talk(backend);
    await ask([user("Hello")]);
    const { how, events } = await ask(second);
    expect(how).toBe("rebuilt(trajectory_gone)");
    expect(events.map(({ type }) => type)).not.toContain("failed");
    expect(backend.prompts[1]?.text).toMatch(/<conversation-\w{7}>/);
  });

  it("waits for a slow agent once: the turn fails, and where no prompt waits there the next one builds a fresh trajectory", async () => {
    const backend = new ForgetfulBackend("Hi.", "Bye.");
    Object.assign(backend, { failure: slow, kind: "acp" });
    const { ask } = talk(backend);
    await ask([user("Hello")]);
    expect((await ask(second)).events).toEqual([slow]);
    expect((await ask(second)).how).toMatch(/^rebuilt/);
    expect(backend.prompts).toHaveLength(2);
  });

  it("keeps a prompt that waits where the turn with its results sent nothing: they find it when they come again", async () => {
    const backend = new ForgetfulBackend([called, parked]);
    Object.assign(backend, { failure: slow, kind: "acp" });
    const { ask, continuity } = talk(backend);
    await ask([user("Look")], { tools: [bash] });
    for (const _ of ["once", "again"]) {
      expect((await ask(results, { tools: [bash] })).events).toEqual([slow]);
      expect(continuity.kept).toBe(1);
    }
    expect(backend.prompts).toHaveLength(1);
  });

  it.each(["unstored", "known_unstored"] as const)(
    "keeps a prompt that waits where the turn with its results was not stored (%s)",
    async (how) => {
      const backend = new ScriptedBackend([called, parked], "Never sent.", "Done.");
      const { ask, continuity } = talk(backend);
      await ask([user("Look")], { tools: [bash] });
      await ask(results, { tools: [bash] }, how);
      expect(continuity.kept).toBe(1);
      expect((await ask(results, { tools: [bash] })).how).toBe("reused");
    },
  );

  it("does not keep a trajectory that holds more than the client sees", async () => {
    const backend = new ScriptedBackend('<tool_call name="bash">\n{"timeoutMs":1}\n</tool_call>', "Never mind.");
    const { ask, continuity } = talk(backend);
    await ask([user("Hello")], { tools: [bash] });
    expect(continuity.kept).toBe(0);
    expect(backend.archived).toEqual([scriptedCascade]);
  });

  it("drops a trajectory whose turn failed", async () => {
    const backend = new ScriptedBackend("Hi.", [gone], "Again.");
    const { ask, continuity } = talk(backend);
    await ask([user("Hello")]);
    await ask(second);
    expect(continuity.kept).toBe(0);
    expect((await ask(second)).how).toBe("rebuilt(unknown_history)");
  });
});
