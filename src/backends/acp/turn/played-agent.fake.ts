import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { access } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import type { CascadeId } from "../../../base/ids.ts";
import { until } from "../../../base/wait.fake.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import { type Batch, eventsOf, type Prompt } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import { openAcpAgent } from "../agent.ts";
import type { AgentChild } from "../wire/agent-child.ts";

export const session = { sessionId: "s", modes: { currentModeId: "ask", availableModes: [{ id: "ask" }] } };
const replies = {
  initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
  "session/new": session,
  "session/prompt": { stopReason: "end_turn" },
};

/** A request or notification that the agent was sent. */
interface RpcMessage {
  readonly id: number;
  readonly method: string;
  readonly params?: {
    readonly cwd?: string;
    readonly mcpServers?: readonly { readonly name: string; readonly env: readonly { readonly value: string }[] }[];
  };
}

/** An agent whose process a test plays. It answers by itself what is not in `mute`. */
export class PlayedAgent implements AgentChild {
  clock = new FakeClock();
  /** The process that is started after this one. */
  next: PlayedAgent | undefined;
  readonly mute: Set<string>;
  readonly asked: RpcMessage[] = [];
  /** As it calls itself in `initialize`. */
  agentName: string | undefined;
  readonly pid = 1;
  readonly exited: Promise<string>;
  heardMs = 0;
  hasEnded = false;
  #exit: (how: string) => void = () => {};
  #hear: (text: string) => void = () => {};

  constructor(...mute: readonly string[]) {
    this.mute = new Set(mute);
    this.exited = new Promise((resolve) => (this.#exit = resolve));
    void this.exited.then(() => (this.hasEnded = true));
  }

  write(text: string): void {
    const message = JSON.parse(text) as RpcMessage;
    this.asked.push(message);
    if (!this.mute.has(message.method)) this.#answer(message);
  }

  /** Answers a method once it was asked, and from then on. */
  async speak(method: string): Promise<void> {
    await until(() => this.count(method) > 0);
    this.mute.delete(method);
    for (const message of this.asked) if (message.method === method) this.#answer(message);
  }

  say(message: object): void {
    this.mutter(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Writes these characters, which may be less than a line. */
  mutter(text: string): void {
    this.heardMs = this.clock.monotonic();
    this.#hear(text);
  }

  update(update: object): void {
    this.say({ method: "session/update", params: { sessionId: session.sessionId, update } });
  }

  text(text: string): void {
    this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  async whileTimePasses<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    void work.finally(() => over.abort());
    for (; !over.signal.aborted; await this.clock.advance(500)) await access(import.meta.filename); // the turn reads files too
    return await work;
  }

  /** Waits until it ends, which nobody asks of it but the end of its warm time. The turn may give it back only once a file is written. */
  async endsUnused(): Promise<boolean> {
    await this.whileTimePasses(this.exited);
    return this.clock.monotonic() >= 5 * 60_000;
  }

  count(method: string): number {
    return this.asked.filter((message) => message.method === method).length;
  }

  onText(listener: (text: string) => void): void {
    this.#hear = listener;
  }

  caughtUp = async () => {};
  errorTail = () => "";
  rssBytes = async () => undefined;
  end = async () => this.#exit("exit code 0");

  #answer({ id, method }: { readonly id: number; readonly method: string }): void {
    const result = Object.entries(replies).find(([name]) => name === method)?.[1] ?? {};
    const says: Readonly<Record<string, object>> =
      this.agentName === undefined
        ? {}
        : {
            initialize: { agentInfo: { name: this.agentName, version: "1.18.33" } },
            "session/new": { modes: { currentModeId: "plan", availableModes: [{ id: "plan", name: "Plan" }] } },
          };
    if (id !== undefined) this.say({ id, result: { ...result, ...says[method] } });
  }
}

const specOf = (folder: string, command = "slow") =>
  ({ name: "slow", ide: "slow", vendor: "other", command, args: [], environment: {}, folder }) as const;

/** A gateway with this agent; its hosts, if it has any, are in `agents`. */
export function open(
  child: PlayedAgent,
  folder = mkdtempSync(join(tmpdir(), "millrace-begin-")),
  command = "slow",
  hosts?: { readonly folder: string },
) {
  let now: PlayedAgent | undefined;
  const agent = openAcpAgent(specOf(folder, command), {
    clock: child.clock,
    startChild: async () => (now = now?.next ?? child),
    ...(hosts && { hosts }),
  });
  onTestFinished(async () => {
    await agent.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return agent;
}

/** Turns of a gateway with this agent. */
export function askingAll(...place: Parameters<typeof open>) {
  const agent = open(...place);
  return async (more: Partial<Prompt> = {}): Promise<readonly TurnEventBody[]> =>
    collected(agent.backend.run({ ...promptFor("default"), ...more }, options, new AbortController().signal));
}

export async function collected(batches: AsyncIterable<Batch>): Promise<readonly TurnEventBody[]> {
  const events: TurnEventBody[] = [];
  for await (const event of eventsOf(batches)) events.push(event);
  return events;
}

export const options = { keep: true, onAlive: () => {} };
const tools = [{ name: "step", description: "", inputSchema: { type: "object" } }];
export const native = { tools, instructions: "", text: "Hello?", parallel: true, results: undefined };
export const continued = { continues: "acp:slow:s" as CascadeId };

/** The relay of the newest session of so many that the agent opens, once its prompt was sent. */
export async function relayOf(child: PlayedAgent, sessions = 1): Promise<Socket> {
  await until(() => child.count("session/new") === sessions);
  const [server] = child.asked.findLast(({ method }) => method === "session/new")?.params?.mcpServers ?? [];
  const [socket, secretFile = ""] = server?.env.map(({ value }) => value) ?? [];
  const secret = readFileSync(secretFile, "utf8");
  const relay = createConnection(socket ?? "");
  onTestFinished(() => void relay.destroy());
  relay.write(`${JSON.stringify({ type: "hello", secret, listed: true, calls: [] })}\n`);
  await until(() => child.count("session/prompt") === sessions);
  return relay;
}
