import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bench, type ModelInput, type Ran } from "../bench.ts";
import type { Recorded } from "../recorder.ts";
import { paper } from "./paper.ts";
import { type Step, type StepName, steps } from "./script.ts";
import type { Message, SessionClient } from "./session.ts";

export interface StepResult {
  readonly type: "passed" | "failed" | "known" | "not possible";
  readonly note: string;
  readonly ms: number;
  readonly ran?: Ran;
}

export interface SessionReport {
  readonly client: SessionClient;
  readonly steps: ReadonlyMap<StepName, StepResult>;
  readonly requests: readonly Recorded[];
}

/** Drives one client through the script, or `only` these steps of it, in a world of its own. A step that fails does not end the session. */
export async function driveSession(
  folder: string,
  client: SessionClient,
  {
    acp,
    tell,
    only,
  }: {
    readonly acp: boolean;
    readonly tell: (step: StepName, result: StepResult) => void;
    readonly only?: readonly StepName[];
  },
): Promise<SessionReport> {
  const bench = await Bench.open(folder, { acp, patienceMs: 120_000 });
  writeFileSync(join(bench.work, "notes.txt"), "note-4711\n");
  writeFileSync(join(bench.work, "paper.pdf"), paper());
  const results = new Map<StepName, StepResult>();
  try {
    for (const step of steps.filter(({ name }) => only?.includes(name) !== false)) {
      const result = await taken(step, client, bench, results.size === 0);
      results.set(step.name, result);
      tell(step.name, result);
    }
    return { client, steps: results, requests: bench.recorder.requests };
  } finally {
    await bench.close();
  }
}

async function taken(step: Step, client: SessionClient, bench: Bench, isFirst: boolean): Promise<StepResult> {
  const startedAt = performance.now();
  const isAttached = attaches(step, client);
  const text = step.prompt(isAttached ? { ...client.calls, read: undefined } : client.calls, bench);
  const ofAgent = step.does === "overflow" && bench.acp ? "an agent shortens its context itself" : undefined;
  const lacks = client.lacks[step.name] ?? ofAgent ?? (text === undefined ? "it has no such tool" : undefined);
  if (lacks !== undefined || text === undefined) return { type: "not possible", note: lacks ?? "", ms: 0 };
  const { isJson } = step;
  const message: Message = {
    step: step.name,
    text,
    isFirst,
    ...(isAttached ? { picture: join(bench.work, "picture.png") } : {}),
    ...(isJson && { isJson }),
  };
  const before = await bench.reached();
  const first = bench.recorder.requests.length;
  let ran: Ran | undefined;
  let wrong: string | undefined;
  try {
    ran = await act(step, client, bench, message);
    const { prompts } = await bench.reached();
    const seen = { prompts: prompts.slice(before.prompts.length), requests: bench.recorder.requests.slice(first) };
    wrong = wrongWith(step, client, ran, { ...seen, acp: bench.acp });
  } catch (error) {
    wrong = error instanceof Error ? error.message : String(error);
  }
  const ms = performance.now() - startedAt;
  const known = client.known?.[step.name];
  const kept = ran === undefined ? {} : { ran };
  if (wrong === undefined)
    return known === undefined
      ? { type: "passed", note: "", ms }
      : { type: "failed", note: "it is known to fail and did not: take it off the list", ms, ...kept };
  return known === undefined ? { type: "failed", note: wrong, ms, ...kept } : { type: "known", note: known, ms };
}

async function act({ does, onNextDay }: Step, client: SessionClient, bench: Bench, message: Message): Promise<Ran> {
  if (onNextDay) {
    await bench.gateway.stop();
    await bench.startGateway({ dayLater: true });
  }
  if (does === "compact" && client.compact !== undefined) return client.compact(bench, message);
  if (does === "stop") {
    const { ide, acp } = bench;
    const { cancels: before } = await bench.reached();
    const ran = await client.say(bench, { ...message, until: bench.answering() });
    const isOver = ({ cancels }: { readonly cancels: readonly unknown[] }) => cancels.length > before;
    const patience = AbortSignal.timeout(30_000);
    await (acp ? ide.untilAgent(isOver, patience) : ide.until(isOver, patience));
    return ran;
  }
  if (does !== "kill") return client.say(bench, message);
  const seen = bench.recorder.requests.length;
  const saying = client.say(bench, message);
  const patience = AbortSignal.timeout(240_000); // some take a minute to start
  await bench.recorder.until((requests) => requests.slice(seen).some(isUnderWay), patience);
  const isThere = (sent: readonly { readonly text: string }[]) => sent.some(({ text }) => text.includes("hold-after"));
  await untilPrompts(bench, isThere, patience);
  await bench.gateway.kill();
  await bench.startGateway();
  await bench.ide.release();
  const ran = await saying;
  // a client that does not repeat a cut answer by itself is asked again by its user
  if (said(ran).includes("piece-199")) return ran;
  const { length } = (await bench.reached()).prompts;
  const again = client.say(bench, message);
  const isNew = (sent: readonly unknown[]) => sent.length > length;
  await Promise.race([again, untilPrompts(bench, isNew, AbortSignal.timeout(240_000)).catch(() => {})]); // or it joined
  await bench.ide.release();
  return again;
}

function untilPrompts(
  { ide, acp }: Bench,
  passes: (sent: readonly { readonly text: string }[]) => boolean,
  signal: AbortSignal,
): Promise<unknown> {
  return acp
    ? ide.untilAgent(({ prompts }) => passes(prompts), signal)
    : ide.until(({ messages }) => passes(messages), signal);
}

/** A good part of an answer has passed, or it is one that comes whole. */
function isUnderWay({ method, path, passed, body }: Recorded): boolean {
  const isStream = path.startsWith("/api/") ? !/"stream":false/.test(body) : /"stream":true/.test(body);
  return method === "POST" && asksForAnswer.test(path) && (!isStream || passed > 1_500);
}

const asksForAnswer =
  /\/(?:chat\/completions|responses(?:\/compact)?|messages(?:\/count_tokens)?|api\/(?:chat|generate)|models\/[^/]+:\w*[gG]enerateContent)(?:\?|$)/;

function wrongWith(
  step: Step,
  client: SessionClient,
  ran: Ran,
  seen: {
    readonly prompts: readonly ModelInput[];
    readonly requests: readonly Recorded[];
    readonly acp: boolean;
  },
): string | undefined {
  const { name, does } = step;
  const text = said(ran);
  const missing = (client.answers?.[name] ?? step.answer).find((part) => !text.includes(part));
  if (missing !== undefined) return `the user does not read ${missing.slice(0, 60)}`;
  if (does === "overflow" && !/context|too (?:long|large|big)/i.test(text + ran.stderr))
    return "the user is not told why";
  if (does !== "stop" && does !== "overflow" && ran.code !== 0) return `it ended with code ${ran.code}`;
  const isSeen = seen.prompts.some(({ images }) => images.length > 0) || (seen.acp && text.includes("[image/png]")); // in a result
  if (step.withPicture && !isSeen) return "the picture did not reach the model";
  const isTask = ({ text: sent }: ModelInput) => sent.includes("echo: word-sub") && !sent.includes("[[agent");
  if (name === "sub-agent" && !seen.acp && !seen.prompts.some(isTask)) return "no sub-agent asked the model";
  const isRead = step.withPicture === true && !attaches(step, client);
  const most = step.prompts + (client.more?.[name] ?? 0) + (isRead ? 1 : 0);
  const least = seen.acp || name === "sub-agent" ? 1 : step.prompts; // a client may end before its sub-agent's words are told
  const count = seen.prompts.length;
  if (does !== "compact" && (count < least || count > most)) return `${count} prompts were sent, not ${most}`;
  if (does === "compact" && count > 2 + (client.more?.[name] ?? 0)) return `${count} prompts were sent`;
  const asked = seen.requests.filter(({ method, path }) => method === "POST" && asksForAnswer.test(path));
  const refused = asked.find(({ status = 200 }) => status >= 300);
  if (refused !== undefined && does !== "overflow" && does !== "kill" && does !== "stop")
    return `${refused.path} was answered with ${refused.status}`;
  return undefined;
}

/** Whether the picture of a step is part of the message; else the client reads it. */
function attaches({ withPicture }: Step, { attaches: always, calls }: SessionClient): boolean {
  return withPicture === true && (always === true || calls.readsTexts === true || calls.read === undefined);
}

function said({ stdout }: Ran): string {
  return stdout.replaceAll(/\s+/g, " ");
}
