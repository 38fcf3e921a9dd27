import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { millrace } from "../support/gateway-process.ts";
import { heapOf } from "../support/heap.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, simulator } from "../support/world.ts";

/** What a person writes and a model says: none of it may be found anywhere but in an answer. */
const texts = {
  prompt: "canary-of-the-prompt-5c1d",
  answer: "canary-of-the-answer-5c1d",
  toolName: "canary-of-a-tool-name-5c1d",
  toolResult: "canary-of-a-result-5c1d",
  system: "canary-of-the-system-5c1d",
  session: "canary-of-a-session-5c1d",
};
const apiKey = "sk-ws-01-canary-of-the-api-key-0123456789abcdef";
const foreignKey = "canary-of-a-key-that-opens-nothing-5c1d";
const environmentSecret = "canary-of-the-environment-5c1d";

/** Where something was looked for, and what stood there. */
type Places = Map<string, string>;

/** The process and all that it started, with what the system shows of them to others: arguments, and environments but the first. */
function shownOf(root: number): { readonly args: string; readonly environments: string } {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const parent = /^PPid:\s+(\d+)/m.exec(procFile(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const family = [root];
  for (const pid of family) for (const [child, parent] of parents) if (parent === pid) family.push(child);
  const all = (pids: readonly number[], file: string) => pids.map((pid) => procFile(`/proc/${pid}/${file}`)).join("\n");
  return { args: all(family, "cmdline"), environments: all(family.slice(1), "environ") };
}

/** Empty for a process that is gone meanwhile. */
function procFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Everything in a folder byte for byte, by file. */
function filesOf(folder: string, places: Places): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      places.set(`file ${path.slice(folder.length + 1)}`, procFile(path));
    }
}

function bodies(model: string, more: string) {
  const user = { role: "user", content: `${texts.prompt} ${more}` };
  return {
    "/v1/chat/completions": { model, messages: [{ role: "system", content: texts.system }, user] },
    "/v1/responses": { model, instructions: texts.system, input: user.content },
    "/v1/messages": { model, max_tokens: 2_000, system: texts.system, messages: [user] },
  };
}

/** Uses every API with canaries in all that it takes, in good requests and in bad ones; keeps what must not tell. */
async function use(ide: Simulator, served: GatewayProcess, model: string, places: Places): Promise<void> {
  const headers = { authorization: `Bearer ${served.key}`, "x-session-id": texts.session };
  const post = (path: string, body: string, more: object = {}) =>
    fetch(served.url + path, { method: "POST", headers: { ...headers, ...more }, body });
  const says = `[[sim: text="so says ${texts.answer}"]]`;
  for (const [path, body] of Object.entries(bodies(model, says))) {
    for (const stream of [true, false]) {
      const response = await post(path, JSON.stringify({ ...body, stream }), {
        "idempotency-key": `${path}-${stream}-${texts.session}`,
      });
      expect(await response.text()).toContain(texts.answer);
      places.set(`headers of ${path}`, JSON.stringify([...response.headers]));
    }
    // Requests that fail: their errors name the field, and not what stood in it.
    const wrong = [
      JSON.stringify(body).slice(0, -1),
      JSON.stringify({ ...body, model: 7 }),
      JSON.stringify({ ...body, tools: texts.toolName }),
    ];
    for (const [i, text] of wrong.entries()) {
      const refused = await post(path, text);
      places.set(`refusal ${i} of ${path}`, JSON.stringify([...refused.headers]) + (await refused.text()));
    }
    const unknown = await post(`${path}?prompt=${texts.prompt}&key=${foreignKey}`, JSON.stringify(body), {
      authorization: `Bearer ${foreignKey}`,
    });
    places.set(`wrong key at ${path}`, await unknown.text());
  }
  for (const [path, body] of Object.entries(bodies(model, `${says} [[sim: error=internal error-after=9]]`))) {
    const failed = await post(path, JSON.stringify(body));
    places.set(`failure of ${path}`, (await failed.text()).replaceAll(texts.answer, "")); // what had arrived may be told
  }
  const attach = rawClient(served).attach("sse", {
    "x-idempotency-key": "stream",
    "x-idempotent-encryption-key": Buffer.alloc(32, 7).toString("base64url"),
  });
  const script = ["[[agent", "say Let me look.", `call ${texts.toolName}`, "---", `say ${texts.answer}`, "]]"].join(
    "\n",
  );
  attach.send(say.request(`${texts.prompt} ${script}`, 0, { model, tools: [texts.toolName] }));
  const callOf = () => attach.chunks.find(({ response }) => response.case === "clientSideToolV2Call");
  await attach.until(() => callOf() !== undefined);
  const called = callOf()?.response.value as { readonly toolCallId: string } | undefined; // as `callOf` looked for
  attach.send(say.result(called?.toolCallId ?? "", texts.toolResult, 1)).endInput();
  expect(await attach.ended).toBeUndefined();
  for (const path of [
    "/metrics",
    "/health",
    "/v1/usage",
    "/v1/limits",
    "/v1/turns",
    "/v1/models",
    "/openapi.json",
    `/v1/models?limit=${texts.prompt}`,
  ])
    places.set(`GET ${path}`, await (await fetch(served.url + path, { headers })).text());
  await ide.setFaults([
    { rpc: "*", error: { code: "internal", message: `it broke with ${apiKey} and ${ide.csrfToken.reveal()}` } },
  ]);
  places.set(
    "an upstream error",
    await (
      await post("/v1/chat/completions", JSON.stringify({ model, messages: [{ role: "user", content: "other" }] }))
    ).text(),
  );
  await ide.setFaults([]);
}

test.skipIf(process.platform !== "linux").each([
  ["windsurf-2", "claude-sonnet-4.6"],
  ["devin-3", "swe-1.6:slow"],
] as const)(
  "what is planted shows in no log, metric, error, crash report, bundle, argument, environment, file or memory (%s)",
  async (profile, model) => {
    const home = temporaryHome();
    const dumps = join(home, "dumps");
    await mkdir(dumps);
    const ide = await simulator({ home, profile, apiKey, turn: { rate: "instant" }, plan: { unlimited: true } });
    const crash = `--report-on-signal --report-signal=SIGWINCH --report-exclude-env --report-directory=${dumps} --report-filename=crash.json`;
    const env = {
      NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dumps} ${crash}`,
      MILLRACE_REDIS_URL: `redis://:${environmentSecret}@127.0.0.1:1`,
    };
    const args = ["--continuity", "off", "--log-level", "debug"];
    const served = await gateway({ home, args, env });
    const created = await millrace(["keys", "create", "ci"], { home });
    const places: Places = new Map();
    await use(ide, served, model, places);

    const shown = shownOf(served.pid);
    places.set("process arguments", shown.args);
    // The agent signs in as the IDE's account with this variable: docs/dev/wire/acp.md, "Signing in".
    places.set("child environments", shown.environments.replaceAll(`WINDSURF_API_KEY=${apiKey}`, ""));
    process.kill(served.pid, "SIGWINCH");
    const report = () => procFile(join(dumps, "crash.json"));
    await expect.poll(() => report().trimEnd().endsWith("}")).toBe(true);
    places.set("Node's crash report", report());
    rmSync(join(dumps, "crash.json"));
    const doctor = join(home, "doctor.json");
    for (const argv of [
      ["doctor", "--json"],
      ["doctor", "--report", doctor],
      ["usage"],
      ["doctor", "--conversations"],
      ["keys", "list"],
    ]) {
      const { NODE_OPTIONS: _, ...settings } = env;
      const { stdout, stderr } = await millrace(argv, { home, env: settings });
      places.set(argv.join(" "), stdout + stderr);
    }
    places.set("the doctor's report", readFileSync(doctor, "utf8"));
    let heap = await heapOf(served.pid, dumps);
    const said = Object.values(texts).filter((each) => each !== texts.session);
    // What is still being put away is gone a moment later; what is kept is there each time.
    for (let looks = 1; looks < 5 && said.some((each) => heap.includes(each)); looks++)
      heap = await heapOf(served.pid, dumps);
    for (const each of said) places.set(`memory for ${each}`, heap.includes(each) ? each : "");
    filesOf(join(home, ".millrace"), places);
    await served.stop();
    places.set("log lines", served.log());
    expect(served.log().length).toBeGreaterThan(100);
    const logFile = join(dumps, "gateway.log");
    writeFileSync(logFile, served.log());
    const { stdout: forPeople } = await millrace(["logs", "--file", logFile, "-n", "10000"], { home });
    places.set("log lines for people", forPeople);
    expect(forPeople.length).toBeGreaterThan(100);

    const own = new Map([
      ["file key", served.key], // where the owner finds it
      ["GET /v1/turns", texts.session], // the client's own name for its session
    ]);
    const secrets = [
      ...Object.values(texts),
      apiKey,
      foreignKey,
      environmentSecret,
      ide.csrfToken.reveal(),
      served.key,
      created.stdout.trim(),
    ];
    const found = [...places].flatMap(([place, text]) =>
      secrets
        .filter((secret) => text.includes(secret) && own.get(place) !== secret)
        .map((secret) => `${secret.slice(0, 28)} in ${place}`),
    );
    expect(found).toEqual([]);
    expect(places.get("file key")).toContain(served.key); // the search finds what is there
    rmSync(dumps, { recursive: true });
  },
);
