import { spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { ProcessRow } from "../host/host.ts";
import { apiKey, LinuxWorld, newTokenFlags, token } from "../linux-world.fake.ts";
import { verifyHolder } from "../process/verify-holder.ts";
import type { StandInOptions } from "../stand-in-process.fake.ts";
import type { IdeOverrides } from "./overrides.ts";

const signal = new AbortController().signal;
const uid = process.getuid?.() ?? -1;

describe.runIf(process.platform === "linux")("discovery over real processes", () => {
  let world: LinuxWorld;
  let home: string;
  const host = () => world.host;
  const start = (options: Partial<StandInOptions> & { flags: readonly string[] }) => world.start(options);
  const signIn = (folder: string, key?: string) => world.signIn(folder, key);
  const look = (overrides: Partial<IdeOverrides> = {}) => world.look(overrides);

  beforeEach(() => {
    world = new LinuxWorld();
    ({ home } = world);
  });
  afterEach(() => world.close());

  it("finds a new build by the token in its environment, and its key in the home that its environment names", async () => {
    await signIn(join(home, ".config", "Windsurf"));
    const standIn = await start({ flags: newTokenFlags, environment: { HOME: home, WINDSURF_CSRF_TOKEN: token } });
    const { ides } = await look();
    expect(ides).toHaveLength(1);
    expect(ides[0]).toMatchObject({ variant: "windsurf", pid: standIn.pid, build: "2.2.17", signedIn: true });
    expect(ides[0]?.endpoint).toMatchObject({ host: "127.0.0.1", port: standIn.ports[0] });
    expect(ides[0]?.identity.apiKey.reveal()).toBe(apiKey);
    expect(ides[0]?.startedAtMs).toBeGreaterThan(Date.now() - 600_000);
  });

  it.each([["--csrf_token", token], [`--csrf_token=${token}`]])(
    "finds an old build by its %s argument",
    async (...flag) => {
      await signIn(join(home, ".config", "Windsurf"));
      const standIn = await start({
        flags: ["--ide_name=windsurf", "--extension_server_csrf_token", "wrong", ...flag],
      });
      const { ides } = await look();
      expect(ides.map(({ pid }) => pid)).toEqual([standIn.pid]);
    },
  );

  it("takes the argument when the token in the environment is refused", async () => {
    const standIn = await start({
      flags: ["--ide_name", "windsurf", "--csrf_token", token],
      environment: { HOME: home, WINDSURF_CSRF_TOKEN: "left-over" },
    });
    const { ides, trace } = await look();
    expect(ides[0]?.pid).toBe(standIn.pid);
    expect(trace.map(({ rule }) => rule)).toContain("token_refused");
  });

  it("distinguishes Windsurf, Windsurf Next and Antigravity and prefers them in this order", async () => {
    await signIn(join(home, ".config", "Windsurf"));
    await signIn(join(home, ".config", "Windsurf - Next"), "sk-ws-01-of-next");
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    await start({ flags: newTokenFlags, environment });
    await start({ flags: ["--ide_name", "windsurf-next"], environment });
    const antigravity = "/opt/Antigravity/resources/app/extensions/antigravity/bin/language_server_linux_x64";
    await start({ program: antigravity, flags: ["--app_data_dir", "antigravity", "--csrf_token", token] });
    const { ides } = await look();
    expect(ides.map(({ variant }) => variant)).toEqual(["windsurf", "windsurf-next", "antigravity"]);
    expect(ides.map(({ identity }) => identity.apiKey.reveal())).toEqual([apiKey, "sk-ws-01-of-next", ""]);
  });

  it("puts the newest of two windows first", async () => {
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    const first = await start({ flags: newTokenFlags, environment });
    await new Promise((resolve) => setTimeout(resolve, 30)); // start times have a grain of 10 ms
    const second = await start({ flags: newTokenFlags, environment });
    expect((await look()).ides.map(({ pid }) => pid)).toEqual([second.pid, first.pid]);
  });

  it("rejects decoys, each with its reason", async () => {
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    const cases = [
      { flags: ["--ide_name", "jetbrains", "--random_port"], rule: "ide-name" },
      { program: "/usr/bin/vim", flags: ["language_server_linux_x64.go"], rule: "not-a-server" },
      { program: "/home/u/.codeium/bin/abc/language_server_linux_x64", flags: ["--enable_lsp"], rule: "no-marker" },
      { flags: newTokenFlags, ports: 0, rule: "listening" },
      { flags: newTokenFlags, address: "0.0.0.0", rule: "loopback" },
      { flags: newTokenFlags, environment: { HOME: home }, rule: "csrf-none" },
    ];
    const started = await Promise.all(cases.map((options) => start({ environment, ...options })));
    const { ides, trace } = await look();
    expect(ides).toEqual([]);
    for (const [index, { rule }] of cases.entries()) {
      const subjects = [`pid ${started[index]?.pid}`, ...(started[index]?.ports ?? []).map((port) => `port ${port}`)];
      const own = trace.filter(({ subject, verdict }) => subjects.includes(subject) && verdict === "rejected");
      expect(own.map((entry) => entry.rule)).toContain(rule);
    }
  });

  it("rejects a zombie", async () => {
    const program = join(home, "language_server_linux_x64");
    symlinkSync("/bin/sleep", program);
    // The shell starts the program, then becomes a sleep, which never collects its children.
    const parent = spawn("/bin/sh", ["-c", `${program} 60 & echo $!; exec sleep 61`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    try {
      const until = async (of: number, passes: (row: ProcessRow) => boolean) => {
        for (let row = await host().readProcess(of, signal); ; row = await host().readProcess(of, signal)) {
          if (row === undefined) throw new Error(`process ${of} is gone`);
          if (passes(row)) return;
          await new Promise((resolve) => setTimeout(resolve, 5)); // nothing tells of a change in /proc
        }
      };
      await until(parent.pid ?? 0, ({ command }) => command.program === "sleep");
      await until(pid, ({ command }) => command.program === program);
      process.kill(pid, "SIGKILL");
      await until(pid, ({ zombie }) => zombie);
      const { ides, trace } = await world.look({}, host(), () => [pid]);
      expect(ides).toEqual([]);
      const about = trace.filter(({ subject }) => subject === `pid ${pid}`);
      expect(about).toHaveLength(1);
      expect(about[0]).toMatchObject({ verdict: "rejected", why: "has ended and waits to be collected by its parent" });
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it.runIf(uid === 0)("gives nothing to another user's process", async () => {
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    const standIn = await start({ flags: newTokenFlags, environment, uid: 65_534 });
    const { ides, trace } = await look();
    expect(ides).toEqual([]);
    expect(trace).toContainEqual(
      expect.objectContaining({ subject: `pid ${standIn.pid}`, rule: "owner", verdict: "rejected" }),
    );
  });

  it("gives nothing to a squatter that took the port of an IDE that went away", async () => {
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    const ide = await start({ flags: newTokenFlags, environment });
    const [found] = (await look()).ides;
    const holder = { pid: ide.pid, startedAtMs: found?.startedAtMs, host: "127.0.0.1", port: ide.ports[0] ?? 0 };
    expect(await verifyHolder(host(), holder, systemClock, signal)).toEqual({ ok: true, value: undefined });
    await ide.stop();
    const squatter = await start({ program: "squatter", flags: [], environment: {}, port: holder.port });
    expect(squatter.ports[0]).toBe(holder.port);
    expect(await verifyHolder(host(), holder, systemClock, signal)).toMatchObject({ ok: false });
    // Also when it had the luck to get the number of the process that it replaces.
    expect(
      await verifyHolder(host(), { ...holder, pid: squatter.pid, startedAtMs: 1 }, systemClock, signal),
    ).toMatchObject({
      ok: false,
    });
  });

  it("gives nothing to an address that only the process next door listens on", async () => {
    const ide = await start({ flags: newTokenFlags, environment: { HOME: home, WINDSURF_CSRF_TOKEN: token } });
    const [found] = (await look()).ides;
    const neighbour = createServer().listen(0, "127.0.0.1");
    await once(neighbour, "listening");
    const { port } = neighbour.address() as { port: number };
    const verdict = await verifyHolder(
      host(),
      { pid: ide.pid, startedAtMs: found?.startedAtMs, host: "127.0.0.1", port },
      systemClock,
      signal,
    );
    neighbour.close();
    expect(verdict).toEqual({ ok: false, why: "the process no longer listens on that port" });
  });

  it("sees the same in a look that waits for nothing", async () => {
    const ide = await start({ flags: newTokenFlags, environment: { HOME: home, WINDSURF_CSRF_TOKEN: token } });
    const port = ide.ports[0] ?? 0;
    const row = await host().readProcess(ide.pid, signal);
    const sockets = await host().listListening(ide.pid, signal);
    const looked = host().lookNow?.(ide.pid, port);
    expect(row).toMatchObject(looked?.row ?? { owner: "nobody looked" });
    expect(looked?.sockets).toEqual({
      ok: true,
      value: sockets.ok && sockets.value.filter((own) => own.port === port),
    });
    await ide.stop();
    expect(host().lookNow?.(ide.pid, port).row).toBeUndefined();
  });

  it("keeps every secret out of the trace", async () => {
    await signIn(join(home, ".config", "Windsurf"));
    await start({
      flags: [...newTokenFlags, "--csrf_token", "planted-argument-token"],
      environment: { HOME: home, WINDSURF_CSRF_TOKEN: token },
    });
    const result = await look();
    expect(result.ides).toHaveLength(1);
    const text = JSON.stringify(result);
    for (const secret of [token, apiKey, "planted-argument-token"]) expect(text).not.toContain(secret);
  });

  it("asks only the address set by hand, with the token file's credentials", async () => {
    const standIn = await start({ program: "anything", flags: [], environment: {} });
    const tokenFile = join(home, "token");
    await writeFile(tokenFile, `${token}\n${apiKey}\n`);
    const { ides } = await look({
      endpoint: { host: "127.0.0.1", port: standIn.ports[0] ?? 0 },
      tokenFile,
      variant: "windsurf-next",
    });
    expect(ides[0]).toMatchObject({ variant: "windsurf-next", pid: undefined, signedIn: true });
    expect(ides[0]?.identity.apiKey.reveal()).toBe(apiKey);
  });

  it("marks a stand-in at the address set by hand, and nothing else there", async () => {
    const tokenFile = join(home, "token");
    await writeFile(tokenFile, `${token}\n${apiKey}\n`);
    const at = async (standIn: Awaited<ReturnType<typeof start>>) => {
      const { ides } = await look({ endpoint: { host: "127.0.0.1", port: standIn.ports[0] ?? 0 }, tokenFile });
      return ides.map((ide) => ide.standIn);
    };
    const marked = await start({ flags: newTokenFlags, environment: { HOME: home, MILLRACE_STAND_IN: "1" } });
    expect(await at(marked)).toEqual([true]);
    expect(await at(await start({ flags: newTokenFlags, environment: { HOME: home } }))).toEqual([undefined]);
  });

  it("says what it looked at when nothing runs", async () => {
    const { ides, trace } = await look();
    expect(ides).toEqual([]);
    expect(trace[0]).toMatchObject({ stage: "candidates", verdict: "note", subject: "/proc" });
  });

  it("survives a server that ends while it is examined, and finds the one that the IDE starts instead", async () => {
    const environment = { HOME: home, WINDSURF_CSRF_TOKEN: token };
    const standIn = await start({ flags: newTokenFlags, environment });
    const restarting = {
      ...host(),
      async listListening(pid: number) {
        await standIn.stop();
        await start({ flags: newTokenFlags, environment });
        return host().listListening(pid, signal);
      },
    };
    expect((await world.look({}, restarting)).ides).toEqual([]);
    expect((await look()).ides.map(({ pid }) => pid)).toEqual([world.running[1]?.pid]);
  });
});
