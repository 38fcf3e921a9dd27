import { describe, expect, test } from "vitest";
import { MillraceError, stoppedInIde } from "../../base/errors.ts";
import { failure, type Script } from "../language-server.fake.ts";
import { replay } from "../replay.fake.ts";
import { finished, setUp, successor } from "./set-up-cascade.fake.ts";

describe("a server that fails while it is polled", () => {
  test("single failures are passed over", async () => {
    const { server, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type === "text") server.failNext("getSteps", "other");
    });
    expect(events.at(-1)).toEqual(finished);
    expect(replay(events).text).toBe("Hello");
  });

  test("three errors in a row end the turn, cancel it and archive it", async () => {
    const { server, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type === "text") for (let i = 0; i < 3; i++) server.failNext("getSteps", "other");
    });
    expect(events.at(-1)).toMatchObject({ type: "failed" });
    expect(server.cancelled).toHaveLength(1);
    expect(server.archived).toHaveLength(1);
  });

  test("after a restart that kept the trajectory the answer continues from there", async () => {
    const { server, servers, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type !== "text" || servers.length > 1) return;
      server.trajectories.get("cascade-1")?.write("lo");
      server.trajectories.get("cascade-1")?.finish();
      server.shutDown();
      servers.push(successor(server, true));
    });
    expect(events.at(-1)).toEqual(finished);
    expect(replay(events).text).toBe("Hello");
    expect(servers.at(-1)).toMatchObject({ archived: ["cascade-1"], accepted: [] });
  });

  test("an IDE that is gone for half a minute, as while the user restarts it, costs no second prompt", async () => {
    let backAtMs: number | undefined;
    const isAway = () => backAtMs !== undefined && clock.monotonic() < backAtMs;
    const { server, servers, clock, run } = setUp(undefined, {
      find: async () => {
        if (isAway()) throw new MillraceError("ide_not_running", "Nothing runs.");
        return servers.at(-1) ?? server;
      },
    });
    const events = await run(false, (event) => {
      if (event.type !== "text" || servers.length > 1) return;
      backAtMs = clock.monotonic() + 30_000;
      server.trajectories.get("cascade-1")?.write("lo");
      server.trajectories.get("cascade-1")?.finish();
      server.shutDown();
      servers.push(successor(server, true));
    });
    expect(events.at(-1)).toEqual(finished);
    expect(clock.monotonic()).toBeGreaterThan(backAtMs ?? Infinity);
    expect(servers.at(-1)).toMatchObject({ accepted: [] });
  });

  test("after a restart that lost the trajectory the turn fails and says what was kept", async () => {
    const { server, servers, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type !== "text" || servers.length > 1) return;
      server.shutDown();
      servers.push(successor(server, false));
    });
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { message: expect.stringContaining("was kept") } });
    expect(replay(events).text).toBe("Hel");
  });

  test("a conversation that the user deletes in the IDE ends the turn by that name", async () => {
    const { server, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type === "text") server.trajectories.clear();
    });
    const error = { message: expect.stringContaining("deleted in the IDE"), details: { reason: stoppedInIde } };
    expect(events.at(-1)).toMatchObject({ type: "failed", error });
    expect(replay(events).text).toBe("Hel");
  });

  describe("on a build that tells neither its status nor the end of a text", () => {
    const bare = (script: Script, options: Parameters<typeof setUp>[1] = {}) => {
      const its = setUp(script, options);
      its.server.capability = { ...its.server.capability, steps: false };
      its.server.onCall = (call) => {
        if (call === "getStatus") throw failure("not_implemented");
      };
      return its;
    };

    test("a text that rests is no whole answer: it is given up by name, with its part", async () => {
      const { run, clock } = bare([(t) => t.plan(), (t) => t.write("Hel")]);
      const events = await run();
      const error = { code: "upstream_timeout", message: expect.stringMatching(/5 min.*part that arrived was kept/) };
      expect(events.at(-1)).toMatchObject({ type: "failed", error });
      expect(replay(events).text).toBe("Hel");
      expect(clock.monotonic()).toBeGreaterThan(5 * 60_000);
    });

    test("a text that rests is given up no later than a turn that shows no sign of life", async () => {
      const { run, clock } = bare([(t) => t.plan(), (t) => t.write("Hel")], { silenceMs: 60_000 });
      expect((await run()).at(-1)).toMatchObject({ error: { message: expect.stringContaining("for 1 min") } });
      expect(clock.monotonic()).toBeLessThan(2 * 60_000);
    });

    test("a text that goes on after more than a minute is whole", async () => {
      const rest = Array.from({ length: 1_000 }, () => () => {});
      const { run, clock } = bare([
        (t) => t.plan(),
        (t) => t.write("Hel"),
        ...rest,
        (t) => t.write("lo"),
        (t) => t.finish(),
      ]);
      expect((await run()).at(-1)).toEqual(finished);
      expect(clock.monotonic()).toBeGreaterThan(60_000);
    });
  });

  test("an answer that the restart cut in half fails soon, by name", async () => {
    const { server, servers, clock, run } = setUp();
    const events = await run(false, (event) => {
      if (event.type !== "text" || servers.length > 1) return;
      server.trajectories.get("cascade-1")?.stop();
      server.shutDown();
      servers.push(successor(server, true));
    });
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { message: expect.stringContaining("restarted") } });
    expect(clock.monotonic()).toBeLessThan(20_000);
  });

  test("a server that hangs for a while, and was forgotten meanwhile, costs nothing", async () => {
    const { server, run } = setUp();
    let hangs = 0;
    server.onCall = (call) => {
      if (call !== "getSteps" || hangs === 0) return;
      hangs--;
      // the first poll gets no answer in time; those after it find the way to the server closed
      throw new MillraceError(hangs === 6 ? "upstream_timeout" : "cancelled", "No answer.");
    };
    const events = await run(false, (event) => {
      if (event.type === "text" && event.delta === "Hel") hangs = 7;
    });
    expect(events.at(-1)).toEqual(finished);
    expect(replay(events).text).toBe("Hello");
    expect(server.accepted).toHaveLength(1);
  });

  test("a server that stays away ends the turn after the time that a restart may take", async () => {
    const { server, run, clock } = setUp();
    const events = await run(false, (event) => {
      if (event.type === "text") server.shutDown();
    });
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(clock.monotonic()).toBeGreaterThan(40_000);
    expect(clock.monotonic()).toBeLessThan(60_000);
  });
});
