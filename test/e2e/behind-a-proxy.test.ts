import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { swallowingProxy } from "../support/swallowing-proxy.ts";
import { model, patienceMs, world } from "../support/world.ts";

/** The ways in which an environment makes Node send its requests to a proxy. */
const switches: readonly Readonly<Record<string, string>>[] = [
  { NODE_USE_ENV_PROXY: "1" },
  { NODE_OPTIONS: "--use-env-proxy", NO_PROXY: "intranet.example" },
];

test.each(switches)(
  "with %o nothing for this machine goes to the proxy",
  async (how) => {
    const proxy = await swallowingProxy();
    const env = { ...proxy.env, ...how };
    const { home, served } = await world({ env });
    const run = (args: readonly string[]) => millrace(args, { home, env });
    expect((await run(["status", "--json"])).stdout).toContain(served.url);
    expect((await run(["chat", '[[sim: text="milled-4711"]] Say it.'])).stdout).toContain("milled-4711");
    expect(await run(["models"])).toMatchObject({ code: 0 });
    expect(await run(["setup", "generic"])).toMatchObject({ stdout: expect.stringContaining(`${served.url}/v1`) });
    const second = await run(["serve", "--port", new URL(served.url).port]);
    expect(second.stderr).toContain(`Your gateway already serves on ${served.url}`);
    expect(proxy.seen).toEqual([]);
  },
  patienceMs,
);

test(
  "the client library sends nothing for this machine to the proxy",
  async () => {
    const proxy = await swallowingProxy();
    const { home, served } = await world();
    const library = (file: string) =>
      JSON.stringify(pathToFileURL(join(import.meta.dirname, "../../src/client", file)));
    const program = join(home, "ask.ts");
    writeFileSync(
      program,
      `import { startReliableStream } from ${library("index.ts")};
import { nodeLink, openFileRecordStore } from ${library("node/index.ts")};
for (const tier of ["bidi", "sse", "poll"]) {
  const gateway = nodeLink({ url: ${JSON.stringify(served.url)}, key: process.env["KEY"] ?? "" }, { tiers: [tier] });
  const store = await openFileRecordStore({ folder: ${JSON.stringify(join(home, "records"))} });
  const messages = [{ role: "user", text: '[[sim: text="milled-4711"]] Say it.' }];
  const stream = await startReliableStream({ model: ${JSON.stringify(model)}, messages }, { gateway, store }, AbortSignal.timeout(60_000));
  let text = "";
  for await (const event of stream.events) if (event.type === "text") text += event.delta;
  console.log(tier, text);
}
process.exit(0);
`,
    );
    const child = spawn(process.execPath, ["--no-warnings", program], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, KEY: served.key, NODE_USE_ENV_PROXY: "1", ...proxy.env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await once(child, "close");
    expect(said).toBe("bidi milled-4711\nsse milled-4711\npoll milled-4711\n");
    expect(proxy.seen).toEqual([]);
  },
  patienceMs,
);

const loopback = ["127.0.0.1", "localhost", "::1"];

test.runIf(process.platform !== "win32")(
  "a client of `run` is told to ask this machine without the proxy",
  async () => {
    const proxy = await swallowingProxy();
    const { home } = await world();
    const bin = join(home, "bin");
    mkdirSync(bin);
    const shown = join(home, "shown");
    writeFileSync(join(bin, "codex"), `#!/bin/sh\nprintf '%s\\n' "$NO_PROXY" "$no_proxy" >'${shown}'\n`);
    chmodSync(join(bin, "codex"), 0o755);
    const told = async (own: Readonly<Record<string, string>>) => {
      const path = { PATH: [bin, process.env["PATH"]].join(delimiter) };
      await millrace(["run", "codex"], { home, env: { ...proxy.env, ...path, ...own } });
      return readFileSync(shown, "utf8").trimEnd().split("\n");
    };
    const own = loopback.join(",");
    expect(await told({})).toEqual([own, own]);
    const merged = `intranet.example,.corp,${own}`;
    expect(await told({ NO_PROXY: "intranet.example,.corp" })).toEqual([merged, merged]);
    expect(await told({ no_proxy: "intranet.example", NO_PROXY: ".corp,localhost" })).toEqual([
      "intranet.example,.corp,localhost,127.0.0.1,::1",
      "intranet.example,.corp,localhost,127.0.0.1,::1",
    ]);
    expect(await told({ NO_PROXY: "*" })).toEqual(["*", "*"]);
    expect(proxy.seen).toEqual([]);
  },
  patienceMs,
);
