import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import type { CascadeId } from "../../../base/ids.ts";
import { doorKinds } from "../../../base/node/door.fake.ts";
import { processRuns } from "../../../base/node/process-exists.ts";
import { shortPath } from "../../../base/node/socket-address.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import { eventsOf } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import type { AcpAgent } from "../agent.ts";
import { ScriptedHarness } from "../scripted-harness.fake.ts";
import type { AgentPlan } from "../scripted-plan.fake.ts";
import { endHosts, lookAtHosts } from "./hosts.ts";

const prompt = promptFor("devin/default");
const options = { keep: false, onAlive: () => {} };
const text = "Hello there, friend.";

let harness: ScriptedHarness;
let gateways: ChildProcess[] = [];
const folder = () => join(harness.folder, "agents");

afterEach(async () => {
  for (const gateway of gateways.splice(0)) gateway.kill("SIGKILL");
  await Promise.all(harness.agents.map((agent) => agent.close()));
  await endHosts(folder());
  await harness.close();
});

async function resumed(agent: AcpAgent, cascadeId: CascadeId): Promise<TurnEventBody[]> {
  const events: TurnEventBody[] = [];
  const from = { cascadeId, text: "", thinking: "" };
  const { signal } = new AbortController();
  for await (const event of eventsOf(agent.backend.resume(prompt, from, options, signal))) events.push(event);
  return events;
}

const textOf = (events: readonly TurnEventBody[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

describe.each(doorKinds)("over $kind", ({ doors }) => {
  const next = (): AcpAgent => harness.agent({ hosts: { folder: folder() }, doors });

  /** A gateway in a process of its own, which is killed once it has printed so many lines: the conversation's id, then texts. */
  async function killedAfter(
    lines: number,
    plan: AgentPlan,
    before = async () => {},
    sends = "sent",
  ): Promise<CascadeId> {
    harness = await ScriptedHarness.open(plan);
    const program = join(import.meta.dirname, "../asking-gateway.fake.ts");
    const gateway = spawn(
      process.execPath,
      ["--no-warnings", program, JSON.stringify(harness.spec), folder(), JSON.stringify(doors), sends],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    gateways.push(gateway);
    let said = "";
    gateway.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said.split("\n").length, { timeout: 60_000 }).toBeGreaterThan(lines);
    await before();
    gateway.kill("SIGKILL");
    await once(gateway, "exit");
    return said.split("\n")[0] as CascadeId; // as it prints it
  }

  test("an agent goes on while its gateway is killed, and the next one reads the whole answer: one process, one prompt", async () => {
    const cascadeId = await killedAfter(2, { text, pauses: true });
    const agent = next();
    const resumption = resumed(agent, cascadeId);
    await harness.plan({ text });
    const events = await resumption;
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect(textOf(events)).toBe(text);
    expect([await harness.count("start"), await harness.count("accepted"), await harness.count("load")]).toEqual([
      1, 1, 0,
    ]);
    expect(await agent.stats()).toMatchObject({ starts: 0, crashes: 0, processes: [{ runningTurns: 0 }] });
  });

  test("a gateway that started before the end of the one before takes up its agent afterwards", async () => {
    const runs = Promise.withResolvers<AcpAgent>();
    const cascadeId = await killedAfter(2, { text, pauses: true }, async () => {
      const agent = next();
      await agent.models(new AbortController().signal); // with a process of its own
      runs.resolve(agent);
    });
    const agent = await runs.promise;
    const resumption = resumed(agent, cascadeId);
    await harness.plan({ text });
    const events = await resumption;
    expect([events.at(-1), textOf(events)]).toMatchObject([{ type: "finished", text }, text]);
    expect([await harness.count("start"), await harness.count("accepted"), await harness.count("load")]).toEqual([
      2, 1, 0,
    ]);
  });

  test("an answer that came to its end while no gateway was there is read by the next one", async () => {
    const cascadeId = await killedAfter(1, {
      text,
      permission: { options: [], toolCall: { toolCallId: "t", kind: "read" } },
    });
    await expect.poll(async () => (await lookAtHosts(folder())).map(({ served }) => served)).toEqual([false]);
    const events = await resumed(next(), cascadeId); // the request for permission, too, is answered by one of them, once
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect([await harness.count("accepted"), await harness.count("permission")]).toEqual([1, 1]);
  });

  test("an answer is waited for while its host lives, although it cannot be reached for longer than a minute", async () => {
    harness = await ScriptedHarness.open({ text, pauses: true });
    const first = next(); // it stays connected, so that the host refuses the next one
    const stop = new AbortController();
    const turn = eventsOf(first.backend.run(prompt, options, stop.signal));
    const started = (await turn.next()).value as TurnEventBody & { readonly type: "started" }; // it is the first event
    await turn.next();
    const rest = turn.next();
    const clock = new FakeClock();
    const second = harness.agent({ hosts: { folder: folder() }, doors, clock });
    let events: readonly TurnEventBody[] | undefined;
    const resumption = resumed(second, started.cascadeId as CascadeId).then((all) => (events = all));
    for (let minute = 0; minute < 2; minute++) {
      await expect.poll(() => clock.sleeping > 0 || events !== undefined).toBe(true);
      await clock.advance(61_000);
    }
    expect(events).toBeUndefined();
    stop.abort("detach");
    await rest;
    await first.close();
    await harness.plan({ text });
    await expect
      .poll(async () => {
        await clock.advance(500);
        return events;
      })
      .toBeDefined();
    expect((await resumption).at(-1)).toMatchObject({ type: "finished", text });
    expect(await harness.count("accepted")).toBe(1);
  });

  test("a gateway that is closed in order leaves an agent that works, and ends one that has nothing to do", async () => {
    harness = await ScriptedHarness.open({ text, holds: true });
    const first = next();
    const stop = new AbortController();
    const turn = eventsOf(first.backend.run(prompt, options, stop.signal));
    const started = (await turn.next()).value as TurnEventBody & { readonly type: "started" }; // it is the first event
    await turn.next();
    const rest = turn.next();
    stop.abort("detach");
    await rest;
    await first.close();
    await expect.poll(() => lookAtHosts(folder())).toMatchObject([{ agent: "devin", served: false, running: 1 }]);
    const second = next();
    const resume = new AbortController();
    const from = { cascadeId: started.cascadeId, text: "", thinking: "" };
    const again = eventsOf(second.backend.resume(prompt, from, options, resume.signal));
    expect(textOf([(await again.next()).value as TurnEventBody])).not.toBe("");
    resume.abort("cancel");
    await again.next();
    expect(await harness.count("cancel")).toBe(1);
    await second.close();
    await expect.poll(() => readdirSync(folder()), { timeout: 10_000 }).toEqual([]);
  });

  test("a gateway that stops while an answer may have late parts leaves the whole answer to the next one", async () => {
    harness = await ScriptedHarness.open({ text });
    const first = harness.agent({ hosts: { folder: folder() }, doors, clock: new FakeClock() }); // the wait for late parts is not over
    const stop = new AbortController();
    const turn = eventsOf(first.backend.run(prompt, options, stop.signal));
    const started = (await turn.next()).value as TurnEventBody & { readonly type: "started" }; // it is the first event
    for (let said = ""; said !== text; ) said += textOf([(await turn.next()).value as TurnEventBody]);
    const rest = turn.next();
    await expect.poll(() => first.stats()).toMatchObject({ processes: [{ runningTurns: 0 }] });
    stop.abort("detach");
    expect(await rest).toMatchObject({ done: true });
    await first.close();
    const events = await resumed(next(), started.cascadeId as CascadeId);
    expect(events.at(-1)).toMatchObject({ type: "finished", text });
    expect([await harness.count("start"), await harness.count("accepted")]).toEqual([1, 1]);
  });

  test("a turn that was begun and whose prompt was not sent is prompted once, in its own session", async () => {
    harness = await ScriptedHarness.open({ text });
    const first = next();
    const stop = new AbortController();
    const turn = eventsOf(first.backend.run(prompt, options, stop.signal));
    const started = (await turn.next()).value as TurnEventBody & { readonly type: "started" }; // it is the first event
    stop.abort("detach");
    await turn.return();
    await first.close();
    expect((await resumed(next(), started.cascadeId as CascadeId)).at(-1)).toMatchObject({ type: "finished", text });
    expect([await harness.count("start"), await harness.count("accepted"), await harness.count("load")]).toEqual([
      1, 1, 0,
    ]);
  });

  test("a turn whose gateway was killed between its begin and its prompt is prompted once, in its own session", async () => {
    const cascadeId = await killedAfter(1, { text }, undefined, "unsent");
    expect((await resumed(next(), cascadeId)).at(-1)).toMatchObject({ type: "finished", text });
    const calls = (await harness.journal()).map(({ what }) => what);
    expect(calls.filter((what) => ["start", "accepted", "delete"].includes(what))).toEqual([
      "start",
      "accepted",
      "delete", // at its end
    ]);
  });

  test("a host that is killed ends its agent, and the turn fails by name with what had arrived", async () => {
    harness = await ScriptedHarness.open({ text, holds: true });
    const agent = next();
    const turn = eventsOf(agent.backend.run(prompt, options, new AbortController().signal));
    await turn.next();
    await turn.next();
    const [look] = await lookAtHosts(folder());
    if (look === undefined) throw new Error("there is no host");
    const [door] = readdirSync(folder());
    process.kill(look.hostPid, "SIGKILL");
    const rest: TurnEventBody[] = [];
    for await (const event of turn) rest.push(event);
    expect(rest.at(-1)).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("its host ended") },
    });
    expect(await harness.count("accepted")).toBe(1);
    await expect.poll(() => processRuns(look.pid), { timeout: 10_000 }).toBe(false);
    const looks = await lookAtHosts(folder()); // which removes the door that it left
    expect(looks.map(({ hostPid }) => hostPid)).not.toContain(look.hostPid);
    expect(readdirSync(folder())).not.toContain(door);
  });

  test("an agent that dies while no gateway is there is an agent's death: the stored session decides", async () => {
    const cascadeId = await killedAfter(2, { text, holds: true });
    const [look] = await lookAtHosts(folder());
    if (look === undefined) throw new Error("there is no host");
    process.kill(look.pid, "SIGKILL");
    await expect.poll(() => processRuns(look.pid)).toBe(false);
    const events = await resumed(next(), cascadeId);
    expect(events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(textOf(events)).toBe(text);
    expect(await harness.count("accepted")).toBe(1);
  });

  test("an agent in a host that stops in the middle of a line is told from one that thinks", async () => {
    harness = await ScriptedHarness.open({ text, halfLine: true });
    const agent = harness.agent({ hosts: { folder: folder() }, doors, silenceMs: 300 });
    const events: TurnEventBody[] = [];
    for await (const event of eventsOf(agent.backend.run(prompt, options, new AbortController().signal)))
      events.push(event);
    expect(events.at(-1)).toMatchObject({ error: { message: expect.stringContaining("in the middle of a message") } });
  });

  test.runIf(process.platform === "linux")("a host waits for its orders, however late they come", async () => {
    harness = await ScriptedHarness.open({});
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    const host = spawn(process.execPath, ["--no-warnings", join(import.meta.dirname, "main.ts")], { env: {} });
    gateways.push(host);
    const fdinfo = `/proc/${host.pid}/fdinfo`;
    const isListening = () =>
      readdirSync(fdinfo).some((fd) => /^tfd:\s+0 /m.test(readFileSync(join(fdinfo, fd), "utf8")));
    await expect.poll(() => host.exitCode ?? isListening(), { timeout: 60_000 }).toBe(true);
    const launch = {
      command: process.execPath,
      args: ["-e", "process.stdin.resume()"],
      environment: {},
      cwd: folder(),
    };
    const door = join(folder(), "00000000-00000001.agent");
    host.stdin.write(`${JSON.stringify({ launch, agent: "late", door, doors, aloneMs: 60_000 })}\n`);
    expect(String((await once(host.stdout, "data"))[0])).toBe("ready\n");
    expect(await lookAtHosts(folder())).toMatchObject([{ agent: "late" }]);
  });

  test("every host ends with its agent when it is told to", async () => {
    harness = await ScriptedHarness.open({ text });
    const first = next();
    await first.models(new AbortController().signal);
    expect(await endHosts(folder())).toHaveLength(1);
    expect(await lookAtHosts(folder())).toEqual([]);
    expect(readdirSync(folder())).toEqual([]);
  });

  test("a prompt, an answer and a key are in no file of a host, and no process shows them in its arguments", async () => {
    await killedAfter(2, { text: "a secret answer", holds: true });
    const [look] = await lookAtHosts(folder());
    if (look === undefined) throw new Error("there is no host");
    expect(readdirSync(folder()).every((name) => name.endsWith(".agent"))).toBe(true);
    if (!existsSync("/proc")) return;
    const open = readdirSync(`/proc/${look.hostPid}/fd`).map((fd) => `/proc/${look.hostPid}/fd/${fd}`);
    // one may be closed while they are looked through
    const texts = open
      .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
      .map((path) => readFileSync(path, "latin1"));
    expect(texts.join("")).not.toContain("secret");
    expect(readFileSync(`/proc/${look.hostPid}/cmdline`, "utf8")).not.toContain("scripted");
  });

  test("a folder whose path is too long for a socket has hosts like any other", async () => {
    harness = await ScriptedHarness.open({ text });
    const long = join(harness.folder, "x".repeat(100));
    const agent = harness.agent({ hosts: { folder: long }, doors });
    for await (const _ of agent.backend.run(prompt, options, new AbortController().signal)) continue;
    expect(await lookAtHosts(long)).toMatchObject([{ served: true }]);
    expect(readdirSync(long)).toHaveLength(1);
    const ended = agent.close();
    await expect.poll(() => readdirSync(long), { timeout: 10_000 }).toEqual([]);
    await ended;
    rmSync(shortPath(join(long, "any")).link ?? "", { force: true });
  });
});
