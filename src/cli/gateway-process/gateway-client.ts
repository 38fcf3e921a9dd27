import { createParser, type EventSourceMessage } from "eventsource-parser";
import { z } from "zod";
import { type ErrorCode, MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import { identifyListener } from "../../base/node/gateway-proof.ts";
import { type LoopbackRequest, loopbackFetch } from "../../base/node/loopback.ts";
import type { Secret } from "../../base/secret.ts";
import { blockedSchema, refusedSchema } from "../../gateway/http/refused-envelope.ts";
import { version } from "../package-files.ts";
import type { Settings } from "../settings.ts";
import { readGatewayFile } from "./gateway-file.ts";
import { readKey } from "./key-file.ts";

/** A gateway that runs and is ours: it proved that it knows the key. */
export interface GatewayClient {
  readonly url: string;
  readonly key: Secret;
  /** Starts another one in its place, where it was started for a command: it may have ended because it was idle. */
  readonly again?: (signal: AbortSignal) => Promise<GatewayClient>;
}

const handshakeMs = 5_000;

/**
 * The running gateway of this user; `stranger` if another program answers at its address, `silent` if the one that listens there does not;
 * undefined if none listens. Never sends the key.
 */
export async function lookForGateway(
  settings: Settings,
  signal: AbortSignal,
): Promise<GatewayClient | "stranger" | "silent" | undefined> {
  const address = readGatewayFile(settings.gatewayFile);
  const key = readKey(settings.keyFile);
  if (address === undefined || key === undefined) return undefined;
  const listener = await identifyListener(address, key, handshakeMs, signal);
  if (listener === "ours") return { url: address.url, key };
  return listener === "none" ? undefined : listener;
}

/** Why nothing can be asked of a gateway that runs, and what helps. */
export function silentGateway(settings: Settings, platform: string = process.platform): MillraceError {
  const { url = "", pid } = readGatewayFile(settings.gatewayFile) ?? {};
  const isWindows = platform === "win32";
  const goOn = isWindows ? "" : ` If it was suspended, let process ${pid} go on (\`kill -CONT ${pid}\`).`;
  const end = isWindows ? `taskkill /F /PID ${pid}` : `kill -9 ${pid}`;
  return new MillraceError("unavailable", `Your gateway (process ${pid}) runs, and does not answer at ${url}.`, {
    hint: `It may be busy: try again.${goOn} If it hangs, end that process (\`${end}\`): its turns continue at the next start.`,
  });
}

/** The running gateway, for a command that needs one. `lacks`: what cannot be done without it, as a sentence. Throws `ide_not_running`, and as `findGateway`. */
export async function needGateway(lacks: string, settings: Settings, signal: AbortSignal): Promise<GatewayClient> {
  const gateway = await findGateway(settings, signal);
  if (gateway !== undefined) return gateway;
  throw new MillraceError("ide_not_running", `${lacks}, because no gateway is running.`, {
    hint: "Type `millrace serve --background`, then this again.",
  });
}

/**
 * The running gateway of this user, if there is one.
 *
 * @throws MillraceError `unavailable` if it does not answer, or another program answers at its address: that program gets no key.
 */
export async function findGateway(settings: Settings, signal: AbortSignal): Promise<GatewayClient | undefined> {
  const found = await lookForGateway(settings, signal);
  if (found === "silent") throw silentGateway(settings);
  if (found !== "stranger") return found;
  const port = new URL(readGatewayFile(settings.gatewayFile)?.url ?? "http://127.0.0.1").port;
  throw new MillraceError("unavailable", `Another program answers on port ${port}, where your gateway was.`, {
    hint: "Your key was not sent to it. Run `millrace serve`: it takes another port, or names the program to stop.",
  });
}

/** The gateway for a further request, proved again. Throws `upstream_failed` if it is gone, and none is started in its place. */
export async function sameGateway(
  gateway: GatewayClient,
  settings: Settings,
  signal: AbortSignal,
): Promise<GatewayClient> {
  const now = (await findGateway(settings, signal)) ?? (await gateway.again?.(signal));
  if (now === undefined) throw notAnswering(gateway.url, new Error("no program listens there"));
  return now;
}

function notAnswering(url: string, cause?: unknown): MillraceError {
  return new MillraceError("upstream_failed", `The gateway at ${url} does not answer.`, {
    hint: "Start it with `millrace serve`.",
    cause,
  });
}

const gatewayErrorSchema = z.object({
  message: z.string(),
  hint: z.string().nullish(),
  details: z.unknown().optional(),
  /** Our own code and message: `code` is OpenAI's, and `message` there holds the hint too. */
  millrace: z.object({ code: z.string(), message: z.string() }).optional(),
});

const errorSchema = z.object({ error: gatewayErrorSchema });

const mostTries = 3;
const isPost = ({ method = "GET" }: { readonly method?: string | undefined }) => method !== "GET";

/** Calls the gateway with its key, as `clientName` (`millrace-cli` where not given). Throws the gateway's own error, or `upstream_failed` when it cannot be reached. */
export async function callGateway(
  gateway: GatewayClient,
  path: string,
  { clientName, ...init }: LoopbackRequest & { readonly clientName?: string },
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("user-agent", `${clientName ?? "millrace-cli"}/${version()}`);
  let { url, key } = gateway;
  for (let tries = 1; ; tries++) {
    headers.set("authorization", `Bearer ${key.reveal()}`);
    const response = await loopbackFetch(new URL(path, url), { ...init, headers }).catch((error: unknown) => {
      if (init.signal.aborted) throw error;
      if (gateway.again === undefined || isPost(init) || tries === mostTries) throw notAnswering(url, error);
      return undefined; // it may have ended in this moment, because it was idle
    });
    if (response === undefined) ({ url, key } = (await gateway.again?.(init.signal)) ?? gateway);
    else if (response.ok) return response;
    else throw await readError(response);
  }
}

/** The JSON that the gateway answers. Throws as `callGateway` does, and `upstream_failed` for an answer in another version's form. */
export async function askGateway<T>(
  gateway: GatewayClient,
  path: string,
  schema: z.ZodType<T>,
  init: Parameters<typeof callGateway>[2],
): Promise<T> {
  const answer = schema.safeParse(await (await callGateway(gateway, path, init)).json());
  if (answer.success) return answer.data;
  throw new MillraceError("upstream_failed", "This command does not understand the gateway's answer.", {
    hint: "The gateway has another version. `millrace restart` starts this one, and running answers continue.",
    cause: answer.error,
  });
}

async function readError(response: Response): Promise<MillraceError> {
  const parsed = errorSchema.safeParse(await response.json().catch(() => undefined));
  if (!parsed.success) return new MillraceError("upstream_failed", `The gateway answered ${response.status}.`);
  return toError(parsed.data.error);
}

function toError({ message, hint, details, millrace }: z.output<typeof gatewayErrorSchema>): MillraceError {
  const code = (millrace?.code ?? "upstream_failed") as ErrorCode; // one from a newer gateway only loses its exit code
  return new MillraceError(code, millrace?.message ?? message, {
    ...(hint == null ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  });
}

const answerSchema = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })) });

/** Asks one question over chat completions, and answers its whole text. Throws the gateway's error. */
export async function ask(
  gateway: GatewayClient,
  { text, model }: { readonly text: string; readonly model: string },
  signal: AbortSignal,
): Promise<string> {
  const { choices } = await askGateway(gateway, "/v1/chat/completions", answerSchema, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json" },
    body: writeJson({ model, messages: [{ role: "user", content: text }] }),
  });
  return choices[0]?.message.content ?? "";
}

/** The messages of an event stream, as they come. */
export async function* messagesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventSourceMessage, void> {
  const waiting: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => void waiting.push(message) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* waiting.splice(0);
  }
}

/** Milliseconds in words: `84 ms`, `1.2 s`. */
export function spell(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Where prompts without an agent's name go now and why; or why they can go nowhere, and the next step. */
const backendSchema = z.looseObject({
  /** `acp`, `cascade`, `raw_chat`, `none`, or a word of another version's gateway. */
  kind: z.string(),
  why: z.string(),
  /** The vendor's agent, where it is asked; `stand_in`: it is a stand-in's. */
  product: z.string().optional(),
  stand_in: z.boolean().optional(),
  /** The vendor's agent, where prompts go to the language server: it takes those for models that only the agent offers. */
  beside: z.string().optional(),
  hint: z.string().optional(),
});

export type BackendInUse = Readonly<z.output<typeof backendSchema>>;

const healthSchema = z.looseObject({
  paused: z.unknown().optional(),
  refused: refusedSchema.optional(),
  blocked: blockedSchema.optional(),
  store: z.looseObject({ degraded: z.boolean(), why: z.string().nullish(), hint: z.string().nullish() }).optional(),
  turns: z.object({ running: z.number(), waiting: z.number(), ended: z.number(), failed: z.number() }).optional(),
  turn_limit: z.object({ most: z.number().nullable(), why: z.enum(["set", "shared", "alone"]) }).optional(),
  details: z
    .looseObject({
      backend: backendSchema,
      log_problem: z.string().optional(),
      newer_agents: z.array(z.string()).optional(),
    })
    .optional(),
});

/** The answer of `/health` of a running gateway, as its owner gets it. */
export function readHealth(gateway: GatewayClient, signal: AbortSignal): Promise<z.output<typeof healthSchema>> {
  return askGateway(gateway, "/health", healthSchema, { signal });
}

/** Why a running gateway cannot write its log, and what to do; undefined where it can. */
export function storeProblemOf({ store }: Pick<z.output<typeof healthSchema>, "store">) {
  if (store?.degraded !== true) return undefined;
  return { what: store.why ?? "The log cannot be written.", todo: store.hint ?? "" };
}
