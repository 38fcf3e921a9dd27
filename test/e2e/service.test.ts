import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startSimulator } from "../../simulator/index.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";

/** A `systemctl` that reads the unit as systemd does, and runs it. */
const systemctl = `#!${process.execPath}
const { spawn } = require("node:child_process");
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const home = process.env.HOME;
const [, action] = process.argv.slice(2);
appendFileSync(home + "/systemctl.log", process.argv.slice(2).join(" ") + "\\n");
const pidFile = home + "/pid";
const words = (text) => text.match(/"(?:[^"\\\\]|\\\\.)*"/g).map((word) => JSON.parse(word).replaceAll("%%", "%"));
const runs = (pid) => { try { return !/\\) Z /.test(readFileSync("/proc/" + pid + "/stat", "utf8")) } catch { return false } };
const end = () => {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8"));
  try { process.kill(pid) } catch {}
  while (runs(pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
};
if (action === "restart" || action === "start") {
  end();
  const unit = readFileSync(home + "/.config/systemd/user/millrace.service", "utf8").split("\\n");
  const values = (key) => unit.filter((line) => line.startsWith(key + "=")).flatMap((line) => words(line.slice(key.length + 1)));
  const [program, ...args] = values("ExecStart").map((word) => word.replaceAll("$$", "$"));
  const env = Object.fromEntries(values("Environment").map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
  const child = spawn(program, args, { detached: true, stdio: "ignore", env: { HOME: home, MILLRACE_PORT: "0", MILLRACE_IDE_ONLY_HOME: home, ...env } });
  writeFileSync(pidFile, String(child.pid));
  child.unref();
} else if (action === "stop" || action === "disable") end();
`;

test.runIf(process.platform === "linux")("a service is installed, answers, and is removed again", async () => {
  const home = temporaryHome();
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "systemctl"), systemctl, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, MILLRACE_IDE_ONLY_HOME: home };
  const service = (action: string) => millrace(["service", action], { home, env });

  expect(await millrace(["service"], { home, env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not installed"),
  });
  const installed = await service("install");
  expect(installed).toMatchObject({ code: 0, stderr: "" });
  const addressNow = () =>
    JSON.parse(readFileSync(join(home, ".millrace/gateway.json"), "utf8")) as { url: string; startedBy: string };
  const address = addressNow();
  expect(address.startedBy).toBe("service");
  expect(installed.stdout).toContain(`The service (systemd) serves on ${address.url}.`);
  expect((await millrace(["service"], { home, env })).stdout).toContain("The service is installed.");
  expect(await millrace(["restart"], { home, env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The service (systemd) serves on"),
  });

  const { url } = addressNow();

  expect(await service("uninstall")).toMatchObject({ code: 0 });
  expect(readFileSync(join(home, "systemctl.log"), "utf8").split("\n")).toContain(
    "--user disable --now millrace.service",
  );
  await expect
    .poll(() =>
      fetch(url).then(
        () => "answers",
        () => "gone",
      ),
    )
    .toBe("gone");
  expect(await service("uninstall")).toMatchObject({ code: 1, stderr: expect.stringContaining("is not installed") });
});

test("each line of a request and its answer carry one id, in the log of a gateway in the background", async () => {
  const home = temporaryHome();
  const simulator = await startSimulator({ home });
  onTestFinished(() => simulator.stop());
  onTestFinished(async () => void (await millrace(["stop"], { home })));
  expect(await millrace(["logs"], { home })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no log"),
  });
  await millrace(["serve", "--background", "--port", "0"], { home });
  const { url } = JSON.parse(readFileSync(join(home, ".millrace/gateway.json"), "utf8")) as { url: string };
  const key = readFileSync(join(home, ".millrace/key"), "utf8").trim();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "user-agent": "probe/1" };
  const models = (await (await fetch(`${url}/v1/models`, { headers })).json()) as { data: { id: string }[] };
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: models.data[0]?.id, messages: [{ role: "user", content: "count to 3" }] }),
  });
  expect(answer.status).toBe(200);
  const requestId = answer.headers.get("x-request-id");
  const logged = async () => {
    const { stdout } = await millrace(["logs", "--json"], { home });
    const lines = stdout.split("\n").filter((line) => line !== "");
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line["requestId"] === requestId);
  };
  await expect
    .poll(async () => new Set((await logged()).map(({ event }) => event)))
    .toEqual(new Set(["request", "turn"]));
  expect((await logged()).find(({ event }) => event === "turn")).toMatchObject({
    client: "probe",
    outcome: "finished",
  });
  const { stdout } = await millrace(["logs"], { home });
  expect(stdout).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}probe .* done {2}${requestId ?? ""}$`, "m"));
});
