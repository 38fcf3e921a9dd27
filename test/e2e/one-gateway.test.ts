import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { millrace, spawnMillrace, startGatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { listening } from "../support/temporary.ts";
import { simulator } from "../support/world.ts";

const takenPort = () => listening(createServer());

interface GatewayFile {
  readonly url: string;
  readonly pid: number;
  readonly startedBy: string;
}

function gatewayFileOf(home: string): GatewayFile {
  return JSON.parse(readFileSync(join(home, ".millrace/gateway.json"), "utf8")) as GatewayFile;
}

test("a port that the user set is never replaced, in the background neither: the error names the process that has it", async () => {
  const home = temporaryHome();
  const port = await takenPort();
  const { code, stdout, stderr } = await millrace(["serve", "--port", String(port)], { home });
  expect({ code, stdout }).toEqual({ code: 73, stdout: "" });
  expect(stderr).toContain(`error: Port ${port} is in use by `);
  expect(stderr).toContain(process.platform === "linux" ? `process ${process.pid} (` : "process");
  expect(stderr).toContain("hint: Stop that process, or choose another port.");
  const byVariable = await millrace(["serve", "--background"], { home, env: { MILLRACE_PORT: String(port) } });
  expect([byVariable.code, byVariable.stderr]).toEqual([73, expect.stringContaining(`Port ${port} is in use by `)]);
});

test("a home has one gateway: a second one says where the first is, however it is started", async () => {
  const home = temporaryHome();
  const first = await startGatewayProcess({ home });
  onTestFinished(() => first.kill());
  const ways = [
    ["--port", new URL(first.url).port],
    ["--port", "0"],
    ["--background", "--port", "0"],
    ...(process.platform === "win32" ? [] : [["--socket", join(home, "socket")]]),
  ];
  for (const way of ways) {
    const { code, stdout, stderr } = await millrace(["serve", ...way], { home });
    expect([code, stdout]).toEqual([73, ""]);
    expect(stderr).toContain(`error: Your gateway already serves on ${first.url} (process ${first.pid}, started `);
    expect(stderr).toContain("`millrace stop` stops it");
    expect(stderr).toContain("MILLRACE_HOME");
  }
  expect((await fetch(`${first.url}/health`)).status).toBe(200);
  const other = await startGatewayProcess({ home, env: { MILLRACE_HOME: join(home, "other") } });
  await other.stop();
  expect(await first.stop()).toBe(0);
  expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(false);
});

test("of gateways that start at once, one serves, and the others name it", async () => {
  const home = temporaryHome();
  const starts = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const child = spawnMillrace(["serve", "--port", "0"], { home });
      onTestFinished(() => void child.kill("SIGKILL"));
      let said = "";
      for (const output of [child.stdout, child.stderr]) output.on("data", (chunk: Buffer) => (said += String(chunk)));
      const code = await Promise.race([
        once(child, "close").then(([ended]: unknown[]) => ended),
        once(child.stdout, "data").then(() => "serves"),
      ]);
      return { pid: child.pid, code, said };
    }),
  );
  const served = starts.filter(({ code }) => code === "serves");
  expect(served).toHaveLength(1);
  for (const { code, said } of starts.filter((each) => each.code !== "serves")) {
    expect(code).toBe(73);
    expect(said).toContain(`(process ${served[0]?.pid}, started `);
  }
});

test.skipIf(process.platform === "win32")(
  "a gateway on a socket is stopped and started again, and chat names it",
  async () => {
    const home = temporaryHome();
    const socket = join(home, "socket");
    onTestFinished(async () => void (await millrace(["stop"], { home })));
    expect((await millrace(["serve", "--background", "--socket", socket], { home })).code).toBe(0);
    const asked = await millrace(["chat", "Hello"], { home });
    expect([asked.code, asked.stderr]).toEqual([73, expect.stringContaining(`already serves on ${socket} (process `)]);
    expect((await millrace(["restart"], { home })).code).toBe(0);
    const stopped = await millrace(["stop"], { home });
    expect(stopped.stdout).toContain(`The gateway at ${socket} (process `);
  },
);

test("a gateway in the background answers until it is stopped, and keeps its port over a restart", async () => {
  const home = temporaryHome();
  onTestFinished(async () => void (await millrace(["stop"], { home })));
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "codex"), "#!/bin/sh\n", { mode: 0o755 });
  const env = { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };
  const started = await millrace(["serve", "--background", "--port", "0"], { home, env });
  expect(started).toMatchObject({ code: 0, stderr: "" });
  expect(started.stdout).toContain("`millrace stop` stops it.");
  expect(started.stdout).toContain(' chat "Hello"\n');
  expect(started.stdout).toMatch(process.platform === "win32" ? / setup \w/ : /^ {2}set up {12}.* setup codex$/m);
  const first = gatewayFileOf(home);
  expect(first.startedBy).toBe("background");
  expect((await fetch(`${first.url}/health`)).status).toBe(200);

  const restarted = await millrace(["restart"], { home });
  expect(restarted).toMatchObject({ code: 0 });
  const second = gatewayFileOf(home);
  expect(second.url).toBe(first.url);
  expect(second.pid).not.toBe(first.pid);

  expect(await millrace(["stop"], { home })).toMatchObject({
    code: 0,
    stdout: `The gateway at ${second.url} (process ${second.pid}) has stopped.\n`,
  });
  await expect(fetch(`${second.url}/health`)).rejects.toThrow("fetch failed");
  expect(await millrace(["stop"], { home })).toMatchObject({ code: 0, stdout: "No gateway runs.\n" });
});

test("a process that has the id of a gateway that is gone gets no signal, and neither `serve` nor `chat` waits for it", async () => {
  const home = temporaryHome();
  await simulator({ home, turn: { rate: "instant" } });
  const bystander = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1e6)"]);
  await once(bystander, "spawn");
  const ended = once(bystander, "exit");
  await (await startGatewayProcess({ home })).kill();
  const file = join(home, ".millrace/gateway.json");
  writeFileSync(file, JSON.stringify({ ...gatewayFileOf(home), pid: bystander.pid }));
  expect(await millrace(["stop"], { home })).toMatchObject({ code: 0, stdout: "No gateway runs.\n" });
  const left = { url: "http://127.0.0.1:9", pid: bystander.pid, instance: "gone", version: "0", startedAtMs: 0 };
  writeFileSync(file, JSON.stringify(left));
  expect(await millrace(["chat", "count to 3"], { home })).toMatchObject({ code: 0, stdout: "1, 2, 3\n" });
  expect((await millrace(["stop"], { home })).stdout).toContain("has stopped");
  writeFileSync(file, JSON.stringify(left));
  const next = await startGatewayProcess({ home });
  expect(await next.stop()).toBe(0);
  expect(bystander.signalCode).toBeNull();
  bystander.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
});

test("a gateway's file that names another process stops the gateway and not that process", async () => {
  const home = temporaryHome();
  const gateway = await startGatewayProcess({ home });
  onTestFinished(() => gateway.kill());
  const bystander = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1e6)"]);
  await once(bystander, "spawn");
  const ended = once(bystander, "exit");
  const file = join(home, ".millrace/gateway.json");
  writeFileSync(file, JSON.stringify({ ...gatewayFileOf(home), pid: bystander.pid }));
  expect((await millrace(["stop"], { home })).code).toBe(0);
  await expect(fetch(`${gateway.url}/health`)).rejects.toThrow("fetch failed");
  bystander.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
});
