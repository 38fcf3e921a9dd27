import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { APIError } from "openai";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import type { Owner } from "./owners/owner.ts";
import { type Listing, listing, makePlace, plantSettings, type TracedPlace } from "./place.ts";

/** One agent behind a gateway, in the home of an owner of its own, with a model server of its own. */
export interface Bench {
  readonly owner: Owner;
  readonly place: TracedPlace;
  readonly model: ModelServer;
  /** The home's files before the agent was started. */
  readonly before: Listing;
  /** The gateway that runs now. */
  readonly gateway: GatewayProcess;
  /** The model to ask, as a client names it. */
  readonly asked: string;
  client(): OpenAI;
  /** Starts another gateway, after the one before has ended. */
  restart(): Promise<void>;
  /** How many prompts the gateway has sent. */
  prompts(): Promise<number>;
  /** Ends the gateway, and with it the agent. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the gateway, and the agent with it. `program` is the agent's own, `free` as `makePlace` has it. */
export async function openBench(owner: Owner, program: string, free: boolean): Promise<Bench> {
  const model = await startModelServer();
  const place = makePlace(owner, model, free);
  plantSettings(owner, place, free);
  configure(owner, program, place);
  const before = listing(place.home);
  let gateway = await startGatewayProcess({ home: place.home });
  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const asked = owner.model === "default" ? await firstModel(client, owner.name) : `${owner.name}/${owner.model}`;
  return {
    owner,
    place,
    model,
    before,
    asked,
    client,
    get gateway() {
      return gateway;
    },
    async restart() {
      gateway = await startGatewayProcess({ home: place.home });
    },
    async prompts() {
      const headers = { authorization: `Bearer ${gateway.key}` };
      const metrics = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
      const name = `^millrace_agent_prompts\\{agent="${owner.name}"\\} (\\d+)`;
      return Number(new RegExp(name, "m").exec(metrics)?.[1]);
    },
    stop: async () => void (await gateway.stop()),
    async close() {
      await gateway.stop();
      await model.close();
      place.remove();
    },
  };
}

/** Names the agent in config.toml. The command has the agent's name, so that Millrace knows it, and writes down what they say to each other. */
function configure({ name, bin, args, set }: Owner, program: string, place: TracedPlace): void {
  const command = join(place.folder, "bin", bin);
  mkdirSync(join(place.folder, "bin"));
  const words = [process.execPath, join(import.meta.dirname, "tap.ts"), place.wire, program];
  writeFileSync(command, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")} "$@"\n`);
  chmodSync(command, 0o755);
  const variables = Object.entries(set(place)).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const entry = `[[agents]]\nname = "${name}"\ncommand = ${JSON.stringify([command, ...args])}\nset = { ${variables.join(", ")} }\n`;
  mkdirSync(join(place.home, ".millrace"), { recursive: true, mode: 0o700 });
  writeFileSync(join(place.home, ".millrace/config.toml"), entry);
}

/** The first start of an agent on a machine takes longer than the gateway waits: its models come with a later list. */
async function firstModel(client: () => OpenAI, agent: string): Promise<string> {
  const patience = AbortSignal.timeout(60_000);
  while (!patience.aborted) {
    const listed = await client().models.list().catch(noModels);
    const first = listed.data.find(({ id }) => id.startsWith(`${agent}/`));
    if (first !== undefined) return first.id;
    await sleep(500);
  }
  return agent;
}

/** A list without a model is refused. */
function noModels(error: unknown): { readonly data: readonly { readonly id: string }[] } {
  if (error instanceof APIError) return { data: [] };
  throw error;
}
