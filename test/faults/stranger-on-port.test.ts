import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { challengeHeader, proofHeader } from "../../src/base/node/gateway-proof.ts";
import { openPlugin } from "../../src/opencode/open-plugin.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, patienceMs } from "../support/world.ts";

/** Another program on this port. It answers like a gateway, and asks `relay` for the proof if there is one. */
async function squatOn(port: number, relay?: string) {
  const asked: { readonly path: string; readonly headers: IncomingMessage["headers"] }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", headers: request.headers });
    const answer = async () => {
      const proof = await proofFrom(relay, request);
      response.writeHead(200, { "content-type": "application/json", ...(proof && { [proofHeader]: proof }) });
      response.end(JSON.stringify({ status: "ok", name: "millrace", data: [] }));
    };
    void answer();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const keys = () => asked.filter(({ headers }) => headers.authorization ?? headers["x-api-key"]);
  return { asked, keys };
}

async function proofFrom(relay: string | undefined, { headers }: IncomingMessage): Promise<string | null> {
  if (relay === undefined) return null;
  const challenge = { [challengeHeader]: String(headers[challengeHeader]) };
  return (await fetch(`${relay}/health`, { headers: challenge })).headers.get(proofHeader);
}

const commands = [["status"], ["models"], ["chat", "Hello"], ["dashboard", "--print"], ["tail"], ["usage"]];

test(
  "another program on the port of a killed gateway gets no key, also if it asks a running gateway for the proof",
  async () => {
    const home = temporaryHome();
    const killed = await gateway({ home });
    const folder = join(home, ".millrace");
    const port = Number(new URL(killed.url).port);
    const known = openPlugin(input, pluginHome(folder)); // it has found the gateway while that ran
    await known.config({});
    await killed.kill();
    const left = readFileSync(join(folder, "gateway.json"), "utf8");
    expect(left).toContain(String(port));

    const elsewhere = mkdtempSync(join(home, "other-"));
    const env = { MILLRACE_HOME: elsewhere, MILLRACE_KEY_FILE: join(folder, "key") };
    const relay = await gateway({ home, env });
    const squatter = await squatOn(port, relay.url);

    for (const command of commands) {
      const { code, stdout, stderr } = await millrace(command, { home });
      expect([command[0], code === 0]).toEqual([command[0], false]);
      const told = stdout + stderr; // `status` says it in its lines
      expect(told).toContain(`Another program answers on port ${port}, where your gateway was.`);
      expect(told).toContain("millrace serve");
    }
    for (const plugin of [known, openPlugin(input, pluginHome(folder))])
      await plugin.tool["millrace_quota"]?.execute({}, { abort: AbortSignal.timeout(1_000) }).catch(() => {});
    expect(squatter.asked.length).toBeGreaterThan(0);
    expect(squatter.asked.every(({ path }) => path === "/health")).toBe(true);
    expect(squatter.keys()).toEqual([]);
    rmSync(elsewhere, { recursive: true, force: true });
  },
  patienceMs,
);

const input = {
  worktree: "/",
  directory: "/",
  client: {
    tui: { showToast: () => Promise.resolve() },
    app: { log: () => Promise.resolve() },
  },
} as never;

/** Without Node on its path, the plugin starts no gateway. */
function pluginHome(folder: string) {
  return { folder, keyFile: undefined, env: { PATH: "" }, clock: systemClock };
}

test("what a gateway tells without a key names neither its instance nor its version", async () => {
  const { url } = await gateway({ home: temporaryHome() });
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok", name: "millrace" });
});
