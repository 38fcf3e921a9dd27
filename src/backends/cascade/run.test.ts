import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { lostPrompt, MillraceError, unsentPrompt } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus, ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import { eventsOf } from "../backend.ts";
import { FakeLanguageServer, type Script } from "../language-server.fake.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { answer, finished, prompt, setUp, successor } from "./set-up-cascade.fake.ts";

describe("a prompt is sent at most once", () => {
  test("panel state that the server lost is made again and the refused prompt sent once more", async () => {
    const { server, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type === "started") server.losePanelState();
    });
    expect(events.at(-1)).toEqual(finished);
    expect(server.accepted).toHaveLength(1);
    expect(server.calls.filter((call) => call === "sendUserMessage")).toHaveLength(2);
  });

  test("panel state that stays lost fails the turn after the second refusal", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "panel_state_lost");
    server.failNext("sendUserMessage", "panel_state_lost");
    const events = await run();
    expect(events.at(-1)).toMatchObject({ type: "failed" });
    expect(server.calls.filter((call) => call === "sendUserMessage")).toHaveLength(2);
  });

  test.each(["csrf_refused", "connection_refused"])(
    "a prompt that the server certainly did not take (%s) is sent once more, to the server that runs now",
    async (reason) => {
      const { server, servers, forgotten, run } = setUp();
      const next = new FakeLanguageServer();
      next.script = answer;
      const events = await run(false, (event) => {
        if (event.type !== "started") return;
        server.failNext("sendUserMessage", reason);
        for (const [id, trajectory] of server.trajectories) next.trajectories.set(id, trajectory);
        servers.push(next);
      });
      expect(events.at(-1)).toEqual(finished);
      expect(forgotten).toEqual([server]);
      expect([server.accepted, next.accepted]).toMatchObject([[], [{ cascadeId: "cascade-1" }]]);
    },
  );

  test("a refused prompt that the trajectory shows all the same is followed, and not sent again", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "csrf_refused", true);
    expect((await run()).at(-1)).toEqual(finished);
    expect(server.calls.filter((call) => call === "sendUserMessage")).toHaveLength(1);
  });

  test("a server that is being looked for does not use up the looks for a refused prompt", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "csrf_refused");
    let closed = 0;
    server.onCall = (call) => {
      if (server.calls.includes("sendUserMessage") && call !== "sendUserMessage" && closed++ < 5)
        throw new MillraceError("cancelled", "The connection to the IDE's server has been closed.");
    };
    expect((await run()).at(-1)).toEqual(finished);
    expect(server.accepted).toHaveLength(1);
  });

  test("a prompt that is refused twice fails as unsent; one that may have arrived at the second try does not", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "csrf_refused");
    server.failNext("sendUserMessage", "csrf_refused");
    const unsent = { code: "upstream_failed", details: { reason: unsentPrompt } };
    expect((await run()).at(-1)).toMatchObject({ type: "failed", error: unsent });
    server.failNext("sendUserMessage", "csrf_refused");
    server.failNext("sendUserMessage", "connection_lost");
    expect((await run()).at(-1)).toMatchObject({ type: "failed", error: { details: { reason: lostPrompt } } });
    expect(server.accepted).toEqual([]);
  });

  test("a restart that loses the trajectory before the prompt is sent fails as unsent", async () => {
    const { server, servers, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type !== "started") return;
      server.shutDown();
      servers.push(successor(server, false));
    });
    const message = expect.stringContaining("before the prompt was sent") as string;
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { message, details: { reason: unsentPrompt } } });
  });

  test("a send whose answer was lost is followed when the trajectory shows that it arrived", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "connection_lost", true);
    const events = await run();
    expect(events.at(-1)).toEqual(finished);
    expect(server.calls.filter((call) => call === "sendUserMessage")).toHaveLength(1);
  });

  test("a send that was lost on its way fails the turn, says so, and is not repeated", async () => {
    const { server, run } = setUp();
    server.failNext("sendUserMessage", "connection_lost");
    const events = await run();
    expect(events.at(-1)).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("did not send") },
    });
    expect(server.calls.filter((call) => call === "sendUserMessage")).toHaveLength(1);
    expect(server.archived).toHaveLength(1);
  });

  test("a resumed turn whose log holds some of the answer is never sent again, even if the trajectory is empty now", async () => {
    const { server, run, resume } = setUp();
    await run(true);
    server.trajectories.get("cascade-1")?.steps.splice(0);
    const cascadeId = "cascade-1" as CascadeId; // the fake's first
    for (const from of [{ text: "Hel" }, { answered: true }]) {
      expect((await resume({ cascadeId, ...from })).at(-1)).toMatchObject({ type: "failed" });
    }
    expect(server.accepted).toHaveLength(1);
  });

  test("a turn that began without a trajectory is not resumed", async () => {
    const { server, resume } = setUp();
    expect(await resume({})).toEqual([{ type: "failed", error: expect.objectContaining({ code: "upstream_failed" }) }]);
    expect(server.accepted).toHaveLength(0);
  });
});

describe("before `started` everything may be done twice", () => {
  test("an IDE that restarted between two turns costs nothing", async () => {
    const { server, servers, forgotten, backends, controller } = setUp();
    const backend = await backends.choose(prompt, controller.signal);
    server.shutDown();
    const next = new FakeLanguageServer();
    next.script = answer;
    servers.push(next);
    const events: TurnEventBody[] = [];
    for await (const event of eventsOf(backend.run(prompt, { keep: false, onAlive: () => {} }, controller.signal))) {
      events.push(event);
    }
    expect(events.at(-1)).toEqual(finished);
    expect(forgotten).toEqual([server]);
    expect(next.accepted).toHaveLength(1);
  });

  test("no IDE is a failure before `started`, with nothing sent", async () => {
    const { server, run } = setUp();
    server.failNext("startCascade", "connection_refused");
    server.failNext("startCascade", "connection_refused");
    expect(await run()).toEqual([{ type: "failed", error: expect.objectContaining({ code: "ide_not_running" }) }]);
    expect(server.accepted).toHaveLength(0);
  });

  test("a trajectory to continue that is gone or busy fails before `started`", async () => {
    const { server, backends, controller } = setUp();
    const again = async (id: string) => {
      const backend = await backends.choose(prompt, controller.signal);
      const asked = { ...prompt, continues: id as CascadeId }; // ids of the fake
      const events: TurnEventBody[] = [];
      for await (const event of eventsOf(backend.run(asked, { keep: true, onAlive: () => {} }, controller.signal)))
        events.push(event);
      return events;
    };
    expect(await again("gone")).toEqual([expect.objectContaining({ type: "failed" })]);
    await server.ensurePanelState({ force: false }, controller.signal);
    const busy = await server.startCascade(controller.signal);
    server.trajectories.get(busy)?.accept("a person's question");
    expect(await again(busy)).toEqual([expect.objectContaining({ type: "failed" })]);
    expect(server.archived).toEqual([]);
  });
});

describe("following", () => {
  test("one poll at a time, and none after the end marker but the last look", async () => {
    const { server, run } = setUp();
    await run();
    expect(server.mostPollsAtOnce).toBe(1);
    expect(server.calls.slice(server.calls.indexOf("getSteps"))).toEqual([
      "getSteps",
      "getSteps",
      "getSteps",
      "getSteps",
      "getStatus",
      "getGeneratorMetadata",
      "getSteps",
      "archive",
    ]);
  });

  test("the poll that confirms a checkpoint does not wait longer because its batch was slow to be stored", async () => {
    const writeAndFinish: Script[number] = (t) => {
      t.write("Hello");
      t.finish();
    };
    const { server, run, clock, controller } = setUp([(t) => t.plan(), writeAndFinish]);
    server.failNext("getStatus", "not_implemented");
    let [storedAtMs, polledAtMs, confirmedAtMs] = [Number.NaN, Number.NaN, Number.NaN];
    server.onCall = (call) => {
      if (call === "getSteps") polledAtMs = clock.monotonic();
    };
    await run(false, (event) => {
      if (isTerminal(event)) confirmedAtMs = polledAtMs;
      if (!server.calls.includes("getStatus") || isTerminal(event) || event.type === "usage") return;
      void clock.sleep(1_000, controller.signal); // the time passes at once
      storedAtMs = clock.monotonic();
    });
    expect(confirmedAtMs).toBe(storedAtMs);
  });

  test("the server is asked to archive before the end is passed on, because a turn whose log has ended is not adopted", async () => {
    const { server, run } = setUp();
    const asked = new Map<string, boolean>();
    await run(false, (event) => asked.set(event.type, server.calls.includes("archive")));
    expect(asked.get("text")).toBe(false);
    expect(asked.get("finished")).toBe(true);
    expect(server.archived).toHaveLength(1);
  });

  test("where the server does not tell its status, text that follows a checkpoint belongs to the answer, which ends a second later", async () => {
    const late: Script[number] = (t) => t.write("lo");
    const { server, clock, run } = setUp([(t) => t.plan(), (t) => t.write("Hel"), (t) => t.finish(), late]);
    server.capability = { ...server.capability, steps: false };
    for (let i = 0; i < 20; i++) server.failNext("getStatus", "not_implemented");
    let [polledAtMs, waitedMs] = [0, 0];
    server.onCall = (call) => {
      if (call !== "getTranscript") return;
      waitedMs = clock.monotonic() - polledAtMs;
      polledAtMs = clock.monotonic();
    };
    expect((await run()).at(-1)).toEqual(finished);
    expect(waitedMs).toBe(1_000);
  });

  test("a server that is slow to archive keeps no end back, and is waited for after it", async () => {
    const { server, run } = setUp();
    const archiving = Promise.withResolvers<void>();
    server.onCall = (call) => (call === "archive" ? archiving.promise : undefined);
    let archivedAtEnd = Number.NaN;
    await run(false, (event) => {
      if (event.type !== "finished") return;
      archivedAtEnd = server.archived.length;
      archiving.resolve();
    });
    expect(archivedAtEnd).toBe(0);
    expect(server.archived).toHaveLength(1);
  });

  test("a trajectory that a tool broke off is cancelled and archived before the end is handed on", async () => {
    const { server, run } = setUp([(t) => t.plan(), (t) => t.tool()]);
    let atEnd: unknown;
    await run(false, (event) => {
      if (event.type === "failed") atEnd = [...server.cancelled, ...server.archived];
    });
    expect(atEnd).toEqual(["cascade-1", "cascade-1"]);
  });

  test("usage is the server's where it reports it, and counted here where it does not", async () => {
    const reported = await setUp().run();
    expect(reported.at(-2)).toEqual({
      type: "usage",
      promptTokens: 1719,
      completionTokens: 25,
      thinkingTokens: 0,
      creditsHundredths: 50,
      estimated: false,
    });
    const silent = setUp();
    silent.server.failNext("getGeneratorMetadata", "not_implemented");
    expect((await silent.run()).at(-2)).toMatchObject({ type: "usage", promptTokens: 1713, estimated: true });
  });

  test("a thinking model may be silent for minutes; ten of them are a timeout", async () => {
    const quiet: Script = [(t) => t.plan(), (t) => t.think("hm")];
    const patient = setUp([
      ...quiet,
      ...Array.from({ length: 900 }, () => () => {}),
      (t) => t.write("Hello"),
      (t) => t.finish(),
    ]);
    expect((await patient.run()).at(-1)).toEqual(finished);

    const dead = setUp(quiet);
    const events = await dead.run();
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_timeout" } });
    expect(dead.clock.monotonic()).toBeGreaterThan(600_000);
    expect(dead.server.cancelled).toHaveLength(1);
  });

  test("a tool of the IDE is stopped upstream", async () => {
    const { server, run } = setUp([(t) => t.plan(), (t) => t.tool()]);
    expect((await run()).at(-1)).toMatchObject({ type: "failed" });
    expect(server.cancelled).toEqual(["cascade-1"]);
  });

  test.each([
    ["archives", ["began cascade-1", "archived cascade-1"]],
    ["fails to archive", ["began cascade-1"]],
  ])("a trajectory that its server %s is noted as it is", async (how, noted) => {
    const lines: string[] = [];
    const journal = {
      note: async ({ cascadeId }: { readonly cascadeId: string }) => void lines.push(`began ${cascadeId}`),
      noteArchived: async (cascadeId: string) => void lines.push(`archived ${cascadeId}`),
      owner: "me",
      clock: new FakeClock(),
    };
    const { server, run } = setUp(undefined, { journal });
    if (how !== "archives") server.failNext("archive", "other");
    const notedAtText: number[] = [];
    await run(false, (event) => event.type === "text" && notedAtText.push(lines.length));
    expect(notedAtText[0]).toBe(1);
    expect(lines).toEqual(noted);
  });

  test.each([
    ["RUNNING", 1],
    ["BUSY", 1],
    ["IDLE", 0],
  ] as const)("a trajectory that is %s is cancelled %i times before it is archived", async (status, times) => {
    const { server, backends, controller } = setUp();
    const cascadeId = "cascade-left" as CascadeId;
    const trajectory = new FakeTrajectory();
    trajectory.status = CascadeRunStatus[status];
    server.trajectories.set(cascadeId, trajectory);
    await (await backends.choose(prompt, controller.signal)).archive(cascadeId, controller.signal);
    expect([server.cancelled.length, server.archived]).toEqual([times, [cascadeId]]);
  });

  test("the stop button in the IDE fails a kept turn, and it is archived", async () => {
    const stop: Script = [
      (t) => t.plan(),
      (t) => t.write("Hel"),
      (t) => t.stop(ExecutorTerminationReason.USER_CANCELED),
    ];
    const { server, run } = setUp(stop);
    const events = await run(true);
    expect(events.filter(isTerminal)).toMatchObject([{ type: "failed", error: { code: "upstream_failed" } }]);
    expect(server.archived).toHaveLength(1);
  });

  test("a cancel while the prompt is being sent cancels and archives", async () => {
    const { server, run, controller } = setUp();
    server.onCall = (call) => {
      if (call === "sendUserMessage") controller.abort("cancel");
    };
    expect((await run()).filter(isTerminal)).toEqual([]);
    expect(server.cancelled).toHaveLength(1);
    expect(server.archived).toHaveLength(1);
  });

  test("an answer of a megabyte arrives whole", async () => {
    const piece = "0123456789abcdef".repeat(4096);
    const script: Script = [
      (t) => t.plan(),
      ...Array.from({ length: 16 }, () => (t: { write(s: string): void }) => t.write(piece)),
      (t) => t.finish(),
    ];
    const events = await setUp(script).run();
    expect(replay(events).text).toBe(piece.repeat(16));
  });
});
