import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasFileModes } from "../support/file-mode.ts";
import { bundleFolder } from "../support/gateway-process.ts";
import { ask, gateway, openai, patience, patienceMs, world } from "../support/world.ts";

/** A client that says what it got, and stays until it is ended. */
const client = (shown: string) =>
  `require("fs").writeFileSync(${JSON.stringify(shown)}, JSON.stringify({ pid: process.pid, env: process.env })); setInterval(() => {}, 1000);`;

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const signal = patience();
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** `millrace run` of a client whose program is the one above. */
async function run(home: string, owner: string, name = "codex") {
  const [bin, shown] = [join(home, "bin"), join(home, `shown-${crypto.randomUUID()}.json`)];
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, `${name}.cjs`), client(shown));
  writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${bin}/${name}.cjs"\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: home, MILLRACE_IDE_ONLY_HOME: home, MILLRACE_API_KEY: owner };
  const child = spawn(process.execPath, [join(bundleFolder(), "bin.js"), "run", name], { env, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { pid, env: given } = await until(() => {
    const text = existsSync(shown) ? readFileSync(shown, "utf8") : "";
    return text === "" ? undefined : (JSON.parse(text) as { pid: number; env: Record<string, string> });
  });
  onTestFinished(() => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended
    }
  });
  const [, key = ""] = Object.entries(given).find(([name]) => /^MILLRACE_[A-Z]+_API_KEY$/.test(name)) ?? [];
  return { child, pid, key, given };
}

describe.runIf(hasFileModes)("the key of a run", { timeout: patienceMs }, () => {
  const statusOf = async (url: string, key: string, path = "/v1/models") =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
  const ended = (url: string, key: string) =>
    until(async () => ((await statusOf(url, key)) === 401 ? true : undefined));

  it("opens the gateway for its client alone, and ends with the run, also when that is killed", async () => {
    const { home, served } = await world({ args: ["--accept"] });
    const { child, key, given } = await run(home, served.key);
    expect(key).toMatch(/^mrr_/);
    expect(given["MILLRACE_API_KEY"]).toBeUndefined();
    expect(JSON.stringify(given)).not.toContain(served.key);
    const { response } = await openai({ url: served.url, key }).chat.completions.create(ask("hello")).withResponse();
    const turn = response.headers.get("x-millrace-turn") ?? "";
    expect(await statusOf(served.url, key, `/v1/turns/${turn}`)).toBe(200);
    expect(await statusOf(served.url, key, "/v1/usage")).toBe(403);
    const summary = await fetch(`${served.url}/dashboard/api/turns/${turn}/summary`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    expect(await summary.json()).toMatchObject({ key: "codex" });

    child.kill("SIGKILL");
    await ended(served.url, key); // its client still runs
    const other = await run(home, served.key);
    expect(other.key).not.toBe(key);
    process.kill(other.pid, "SIGKILL");
    await ended(served.url, other.key);
    const refused = await fetch(`${served.url}/v1/models`, { headers: { "x-api-key": other.key } });
    expect(await refused.text()).toContain("The key was of a `millrace run`, which has ended.");
  });

  it("works in the gateway that follows a killed one, and never in one whose run has ended", async () => {
    const { home, served } = await world({ args: ["--accept"] });
    const [lasting, over] = [await run(home, served.key), await run(home, served.key)];
    await served.kill();
    over.child.kill("SIGKILL");
    const next = await gateway({ home, args: ["--accept"] });
    // until the run is there again, its client is told to come again, and not that its key is wrong
    const seen = new Set<number>();
    await until(async () => {
      const status = await statusOf(next.url, lasting.key);
      seen.add(status);
      return status === 200 ? true : undefined;
    });
    expect(seen).not.toContain(401);
    await ended(next.url, over.key);
  });

  it.runIf(process.platform === "linux")(
    "is no key for a client that reads it under a public name: a door is open for that run alone",
    async () => {
      const { home, served } = await world({ args: ["--accept"] });
      const { child, given, key } = await run(home, served.key, "goose");
      expect([key, JSON.stringify(given)]).toEqual(["", expect.not.stringMatching(/mr[kr]?_[\w-]{43}/)]);
      const door = given["OPENAI_HOST"] ?? "";
      const asked = () => openai({ url: door, key: given["OPENAI_API_KEY"] ?? "" });
      const { response } = await asked().chat.completions.create(ask("hello")).withResponse();
      const turn = response.headers.get("x-millrace-turn") ?? "";
      const owner = { headers: { authorization: `Bearer ${served.key}` } };
      const summary = await fetch(`${served.url}/dashboard/api/turns/${turn}/summary`, owner);
      expect(await summary.json()).toMatchObject({ key: "goose" });
      expect((await fetch(`${door}/v1/models`, { headers: { origin: "https://evil.example" } })).status).toBe(403);

      const isOpen = () =>
        fetch(`${door}/v1/models`).then(
          ({ status }) => status === 200,
          () => false,
        );
      await served.kill();
      await gateway({ home, args: ["--accept"] });
      await until(async () => ((await isOpen()) ? true : undefined)); // at the same address
      child.kill("SIGKILL");
      await until(async () => ((await isOpen()) ? undefined : true)); // its client still runs
    },
  );
});
