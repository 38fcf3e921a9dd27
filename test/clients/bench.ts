import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";
import type { Machine, SetupKey, Target } from "../../src/cli/clients/client.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { processorWaitMs } from "../support/processor-wait.ts";
import { endLeftRunning } from "./left-running.ts";
import { type Recorder, startRecorder } from "./recorder.ts";

/** What every client is put through. */
export const scenarios = ["plain", "tools", "json", "image", "cancel", "error"] as const;
export type Scenario = (typeof scenarios)[number];

/** The prompt of each; the directives are the stand-in IDE's. */
export const prompts: Readonly<Record<Scenario, string>> = {
  plain: "[[sim: text=milled-4711]] Say the word.",
  tools: "[[sim: agent=loop]] Look around.",
  json: "Which city, and how many days?",
  image: "What is in this picture?",
  cancel: "[[sim: size=60000 rate=300]] Tell me everything.",
  error: "[[sim: error=quota]] Say something.",
};

export const tripSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
} as const;

const model = "claude-sonnet-4.6";
/** A model of the stand-in's agent. */
const acpModel = "claude-sonnet-5";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly pieces: readonly Piece[];
  /** Whether it had to be killed, because it did not end in time. */
  readonly killed: boolean;
}

/** A piece of what a client wrote, and when; `waitedMs` as in `Recorded`. */
interface Piece {
  readonly stream: "stdout" | "stderr";
  readonly atMs: number;
  readonly waitedMs: number;
  readonly text: string;
}

export interface BenchOptions {
  /** The stand-in for Devin Desktop: prompts go to its agent program over ACP. */
  readonly acp?: boolean;
  /** What is left of the account's plan. */
  readonly plan?: SimulatorOptions["plan"];
  /** The model that the client is told to ask. */
  readonly model?: string;
  readonly patienceMs?: number;
  /** How long a turn continues without a reader; a second by default. */
  readonly grace?: string;
}

/** A prompt as the stand-in took it. */
export interface ModelInput {
  readonly text: string;
  readonly images: readonly unknown[];
}

/** A client's own world: a stand-in IDE, a gateway process, a recorder before it, an empty home and a work folder. */
export class Bench {
  readonly ide: Simulator;
  /** The one that runs now. */
  gateway: GatewayProcess;
  readonly recorder: Recorder;
  /** Where the clients are installed. */
  readonly clients: string;
  /** The gateway's home, and the client's own empty one. */
  readonly gatewayHome: string;
  readonly home: string;
  readonly work: string;
  readonly acp: boolean;
  /** How long a program of a client may run. */
  readonly patienceMs: number;
  readonly #model: string | undefined;

  private constructor(
    parts: Pick<Bench, "ide" | "gateway" | "recorder" | "clients" | "gatewayHome" | "home" | "work" | "acp">,
    { patienceMs = 240_000, model }: BenchOptions,
  ) {
    this.patienceMs = patienceMs;
    this.#model = model;
    this.acp = parts.acp;
    ({ ide: this.ide, gateway: this.gateway, recorder: this.recorder, clients: this.clients } = parts);
    ({ gatewayHome: this.gatewayHome, home: this.home, work: this.work } = parts);
  }

  static async open(clients: string, options: BenchOptions = {}): Promise<Bench> {
    const { plan, acp = false } = options;
    const folder = mkdtempSync(join(tmpdir(), "millrace-clients-"));
    const [gatewayHome, home, work] = [join(folder, "gateway"), join(folder, "home"), join(folder, "work")];
    for (const path of [gatewayHome, home, work]) mkdirSync(path);
    writeFileSync(join(work, "README.md"), "# A folder to work in\n");
    writeFileSync(join(work, "picture.png"), png(8, 8));
    const turn = { rate: 4_000, firstMs: 20, inputMs: 10 };
    const ide = await startSimulator({
      home: gatewayHome,
      turn,
      ...(acp ? { profile: "devin-3" as const } : {}),
      ...(plan === undefined ? {} : { plan }),
    });
    const { grace = "1s" } = options;
    const gateway = await startGatewayProcess({ home: gatewayHome, args: ["--grace", grace] });
    const recorder = await startRecorder(gateway.url, () => waitedMs(gateway));
    return new Bench({ ide, gateway, recorder, clients, gatewayHome, home, work, acp }, options);
  }

  /** Another gateway over the same files, after the one that runs was killed or stopped. Its clock may be a day ahead. */
  async startGateway({ dayLater = false } = {}): Promise<void> {
    const day = new URL("sessions/day-later.mjs", import.meta.url).href;
    this.gateway = await startGatewayProcess({
      home: this.gatewayHome,
      ...(dayLater ? { env: { NODE_OPTIONS: `--import=${day}` } } : {}),
    });
    this.recorder.leadTo(this.gateway.url);
  }

  async close(): Promise<void> {
    this.recorder.close();
    await this.gateway.stop();
    await this.ide.stop();
    endLeftRunning(this.home); // Cline leaves a daemon
    rmSync(dirname(this.home), { recursive: true, force: true, maxRetries: 5 });
  }

  get key(): string {
    return this.gateway.key;
  }

  get model(): string {
    return this.#model ?? (this.acp ? acpModel : model);
  }

  /** What reached the model since the start: through the agent, or through the language server. */
  async reached(): Promise<{ readonly prompts: readonly ModelInput[]; readonly cancels: number }> {
    if (!this.acp) {
      const { messages, cancels } = await this.ide.report();
      return { prompts: messages, cancels: cancels.length };
    }
    const { prompts: sent, cancels } = this.ide.agentReport();
    return { prompts: sent, cancels: cancels.length };
  }

  get target(): Target {
    const { model } = this;
    const listed = { id: model, name: "Claude", contextTokens: 200_000, maxOutputTokens: 32_768, images: true };
    return { url: this.recorder.url, model, models: [listed], small: model, newest: {}, shell: "sh" };
  }

  /** The key of a client that is set up. */
  get setupKey(): SetupKey {
    const words = ["printf", "%s", this.key];
    const command = words.join(" ");
    return { value: this.key, variable: "MILLRACE_OFTHISSETUP_API_KEY", words, command, typed: command };
  }

  /** The client's own user. */
  get place(): Machine {
    const ownFolder = join(this.home, ".millrace");
    return { homeFolder: this.home, env: {}, platform: process.platform, ownFolder };
  }

  bin(name: string): string {
    return join(this.clients, "node_modules", ".bin", name);
  }

  /** Runs a program of a client to its end. `until` ends it early, as Ctrl-C does: a terminal signals every process of the group. */
  async run(
    command: string,
    args: readonly string[],
    options: {
      readonly env?: Readonly<Record<string, string>>;
      readonly stdin?: string;
      readonly until?: Promise<unknown>;
      readonly patienceMs?: number;
    } = {},
  ): Promise<Ran> {
    const child = spawn(command, [...args], {
      cwd: this.work,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // a group of its own
      env: {
        PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
        HOME: this.home,
        TERM: "dumb",
        NO_COLOR: "1",
        ...options.env,
      },
    });
    const written = { stdout: "", stderr: "" };
    const pieces: Piece[] = [];
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].on("data", (chunk: Buffer) => {
        written[stream] += chunk.toString();
        pieces.push({ stream, atMs: performance.now(), waitedMs: waitedMs(this.gateway), text: chunk.toString() });
      });
    }
    child.stdin.on("error", () => {}); // a program that does not read its input
    child.stdin.end(options.stdin ?? "");
    const signal = (name: NodeJS.Signals) => {
      try {
        process.kill(-(child.pid ?? Number.NaN), name);
      } catch {
        // it has ended
      }
    };
    let killed = false;
    const giveUp = setTimeout(() => {
      killed = child.exitCode === null && child.signalCode === null;
      signal("SIGKILL");
      endLeftRunning(this.home); // they hold its output open
    }, options.patienceMs ?? this.patienceMs);
    void options.until?.then(() => signal("SIGINT"));
    const [code] = (await once(child, "close")) as [number | null];
    clearTimeout(giveUp);
    return { code, ...written, pieces, killed };
  }

  /** Runs one of our own drivers of an SDK, in a process of its own. */
  driver(
    name: string,
    scenario: Scenario | "failure",
    surface = "",
    prompt?: string,
    more: Parameters<Bench["run"]>[2] = {},
  ): Promise<Ran> {
    const env = {
      BASE_URL: this.recorder.url,
      API_KEY: this.key,
      MODEL: this.model,
      PROMPT: prompt ?? (scenario === "failure" ? "" : prompts[scenario]),
      SCHEMA: JSON.stringify(tripSchema),
      IMAGE: join(this.work, "picture.png"),
      SURFACE: surface,
      ...more.env,
    };
    return this.run(process.execPath, [join(this.clients, "drivers", `${name}.mjs`), scenario], { ...more, env });
  }

  /** Resolves once the model has begun to answer something new. */
  async answering(): Promise<void> {
    const patience = AbortSignal.timeout(240_000);
    const begun = (await this.reached()).prompts.length;
    if (this.acp) {
      const isLong = ({ text }: ModelInput) => text.includes("size=60000");
      await this.ide.untilAgent(({ prompts: sent }) => sent.slice(begun).some(isLong), patience);
      return;
    }
    await this.ide.until(
      (report) => report.messages.slice(begun).some(({ text }) => text.includes("size=60000")),
      patience,
    );
    await this.ide.until((report) => report.cascades.some(({ status }) => status === "running"), patience);
  }
}

/** How long the gateway and this process, which forwards its answers, have waited for a processor; 0 if the system does not report it. */
function waitedMs({ pid }: GatewayProcess): number {
  return processorWaitMs([pid, process.pid]) ?? 0;
}

/** A picture of one colour. */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, crc]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, 0x80)]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc32(data: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
