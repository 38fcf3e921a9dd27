import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { modelConfigs } from "../../../src/opencode/model-config.ts";
import { millrace, startGatewayProcess } from "../../support/gateway-process.ts";
import type { Bench } from "../bench.ts";
import { expect, type Journey } from "./journey.ts";
import { packedPlugin, prepareOpenCode, quietOpenCode } from "./opencode-home.ts";

const client = "OpenCode, with the plugin";
const packageName = "opencode-ai";

/** The whole configuration: the plugin is named, nothing more. */
const onlyPlugin = () => ({ plugin: [packedPlugin()] });

function run(bench: Bench, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return bench.run(bench.bin("opencode"), args, {
    env: { ...quietOpenCode, MILLRACE_HOME: join(bench.gatewayHome, ".millrace"), MILLRACE_PORT: "0", ...env },
  });
}

const prompt = (text: string, bench: Bench) => ["run", text, "--model", `millrace/${bench.target.model}`];

/** The process that the plugin started, by the address it wrote down. */
function startedGateway(bench: Bench): number {
  const file = join(bench.gatewayHome, ".millrace", "gateway.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly pid: number }).pid;
}

export const pluginJourneys: readonly Journey[] = [
  {
    client,
    packageName,
    sentence:
      "with nothing but the plugin of the packed tarball, it lists the models and answers through the running gateway",
    async run(bench) {
      prepareOpenCode(bench, bench.home, onlyPlugin());
      const { stdout, stderr } = await run(bench, ["models", "millrace"]);
      const listed = stdout.split("\n").filter((line) => line.startsWith("millrace/"));
      const answer = await fetch(`${bench.gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${bench.key}` },
      });
      const wanted = Object.keys(modelConfigs(await answer.json())).map((name) => `millrace/${name}`);
      expect(wanted.length > 5, "the gateway lists hardly any models", wanted);
      expect(JSON.stringify(listed.sort()) === JSON.stringify(wanted.sort()), "other models", stdout + stderr);
      const ran = await run(bench, prompt("[[sim: text=milled-4711]] Say the word.", bench));
      expect(ran.stdout.includes("milled-4711"), "no answer", ran.stdout + ran.stderr);
    },
  },
  {
    client,
    packageName,
    sentence: "it starts the gateway where none runs; that gateway outlives it and writes its log",
    async run(bench) {
      await bench.gateway.stop();
      prepareOpenCode(bench, bench.gatewayHome, onlyPlugin()); // whose user has the IDE
      const ran = await run(bench, prompt("[[sim: text=milled-4711]] Say the word.", bench), {
        HOME: bench.gatewayHome,
        MILLRACE_IDE_ONLY_HOME: bench.gatewayHome,
      });
      const pid = startedGateway(bench);
      try {
        expect(ran.stdout.includes("milled-4711"), "no answer", ran.stdout + ran.stderr);
        expect(pid !== bench.gateway.pid && process.kill(pid, 0), "no gateway of its own runs");
        const logs = join(bench.gatewayHome, ".millrace", "logs");
        const text = readdirSync(logs).map((file) => readFileSync(join(logs, file), "utf8"));
        expect(/\/v1\/chat\/completions/.test(text.join("")), "its log lacks the request", text);
      } finally {
        process.kill(pid, "SIGTERM");
      }
    },
  },
  {
    client,
    packageName,
    sentence: "its tool `millrace_quota` tells the model what is left of the plan",
    bench: { plan: { shape: "percent", used: 40 } },
    async run(bench) {
      prepareOpenCode(bench, bench.home, onlyPlugin());
      const script = "[[agent\ncall millrace_quota {}\n---\nsay tools said {results}\n]] What is left?";
      const { stdout, stderr } = await run(bench, prompt(script, bench));
      expect(/tools said[^]*Daily quota: 4\d % of 100 % used/i.test(stdout), "no plan", stdout + stderr);
    },
  },
  {
    client,
    packageName,
    sentence: "a toast says when the quota runs low",
    bench: { plan: { shape: "percent", used: 95, usedWeekly: 10 } },
    async run(bench) {
      prepareOpenCode(bench, bench.home, onlyPlugin());
      const toast = await toastAfterAnAnswer(bench);
      expect(/is running low: 9\d(\.\d+)? % of 100 % used/.test(toast), "no toast of a low quota", toast);
    },
  },
  {
    client,
    packageName,
    sentence: "where no gateway can start, it shows why, and no other vendor's model gets the prompt",
    async run(bench) {
      await bench.gateway.stop();
      const model = `millrace/${bench.target.model}`;
      prepareOpenCode(bench, bench.home, { ...onlyPlugin(), model });
      const blocked = join(bench.work, "README.md"); // a file where its folder should be
      const ran = await run(bench, ["run", "Say the word."], { MILLRACE_HOME: blocked });
      const told = ran.stdout + ran.stderr;
      expect(/The gateway did not start|cannot/.test(told), "it does not say why", told);
      expect((await bench.ide.report()).messages.length === 0, "a prompt was sent");
    },
  },
  {
    client,
    packageName,
    sentence: "a gateway that comes back at another address is asked there, in the same session",
    async run(bench) {
      prepareOpenCode(bench, bench.home, onlyPlugin());
      await withServer(bench, async ({ ask }) => {
        const first = await ask("[[sim: text=milled-4711]] Say the word.");
        expect(first.includes("milled-4711"), "no answer", first);
        const { url } = bench.gateway;
        await bench.gateway.stop();
        bench.gateway = await startGatewayProcess({ home: bench.gatewayHome });
        expect(bench.gateway.url !== url, "it came back at the same address");
        const second = await ask("[[sim: text=milled-4712]] Say the next word.");
        expect(second.includes("milled-4712"), "no answer from the new address", second);
      });
    },
  },
  {
    client,
    packageName,
    sentence: "`millrace stop` holds until the user's next message, which starts a gateway",
    async run(bench) {
      prepareOpenCode(bench, bench.home, onlyPlugin());
      await withServer(bench, async ({ ask, url, patience }) => {
        const idle = eventOf(`${url}/event`, "session.idle", patience);
        await ask("[[sim: text=milled-4711]] Say the word.");
        const stopped = await millrace(["stop"], { home: bench.gatewayHome });
        expect(stopped.code === 0, "millrace stop failed", stopped.stderr);
        await idle; // upon which the plugin looks at the quota
        const files = () => readdirSync(join(bench.gatewayHome, ".millrace"));
        expect(files().includes("stopped") && !files().includes("gateway.json"), "a gateway runs again", files());
        const next = await ask("[[sim: text=milled-4712]] Say the next word.");
        expect(next.includes("milled-4712"), "the next message gets no answer", next);
        process.kill(startedGateway(bench), "SIGTERM");
      });
    },
  },
];

/** Asks OpenCode's own server one question, and answers the first toast that it is to show. */
function toastAfterAnAnswer(bench: Bench): Promise<string> {
  return withServer(bench, async (open) => {
    const toast = firstToast(`${open.url}/event`, open.patience);
    await open.ask("[[sim: text=fine]] Hello.");
    return toast;
  });
}

interface OpenCodeServer {
  readonly url: string;
  readonly patience: AbortSignal;
  /** Sends a user's message in one session, and answers with all that came of it, as JSON. */
  readonly ask: (text: string) => Promise<string>;
}

/** Runs OpenCode's own server, as its window does. */
async function withServer<T>(bench: Bench, use: (open: OpenCodeServer) => Promise<T>): Promise<T> {
  const child = spawn(bench.bin("opencode"), ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
    cwd: bench.work,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
      HOME: bench.home,
      MILLRACE_HOME: join(bench.gatewayHome, ".millrace"),
      MILLRACE_IDE_ONLY_HOME: bench.gatewayHome,
      MILLRACE_PORT: "0",
      ...quietOpenCode,
    },
  });
  const patience = AbortSignal.timeout(120_000);
  try {
    const url = await addressIn(child.stdout);
    const post = async (path: string, body: unknown): Promise<unknown> => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(url + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal: patience,
      });
      expect(response.ok, `${path} answered ${response.status}`);
      return response.json();
    };
    const { id } = (await post("/session", {})) as { readonly id: string }; // OpenCode's own form
    const model = { providerID: "millrace", modelID: bench.target.model };
    const ask = async (text: string) =>
      JSON.stringify(await post(`/session/${id}/message`, { model, parts: [{ type: "text", text }] }));
    return await use({ url, patience, ask });
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

/** The address that a server prints. */
async function addressIn(output: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of output) {
    text += chunk.toString();
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error(`OpenCode's server ended: ${text}`);
}

/** The message of the first toast among OpenCode's events. */
const firstToast = (url: string, signal: AbortSignal) => eventOf(url, "tui.toast.show", signal);

/** The message, if it has one, of the first event of a type. */
async function eventOf(url: string, wanted: string, signal: AbortSignal): Promise<string> {
  const { body } = await fetch(url, { signal });
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true })); // fetch's bodies are bytes
    for (const { data } of events.splice(0)) {
      const { type, properties } = JSON.parse(data) as { type: string; properties?: { message?: string } };
      if (type === wanted) return properties?.message ?? "";
    }
  }
  throw new Error("OpenCode's events ended");
}
