import { setTimeout as pause } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import {
  type MessageInit,
  type RawAttach,
  rawClient,
  say,
  type TierName,
} from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames, type StreamNames } from "../../src/gateway/streams/stream-world.fake.ts";
import {
  StreamUnifiedChatResponseWithToolsSchema as ChunkSchema,
  StreamEnd_Outcome,
} from "../../src/proto/aiserver/v1/chat_pb.ts";
import type { AbortWorld } from "./abort-world.ts";
import { longAnswer, type Step, steps } from "./stream-steps.ts";

/** The ways to abort. */
export const ways = [
  "here",
  "here, with a number",
  "afresh",
  "afresh, with a number",
  "lost, and again",
  "twice",
] as const;
export type Way = (typeof ways)[number];

/** One stream that is aborted. */
export interface Case {
  readonly tier: TierName;
  readonly step: Step;
  readonly way: Way;
}

interface Aborted extends Case {
  readonly names: StreamNames;
  /** Whether the abort was acknowledged, or its end delivered. */
  readonly sent: readonly MessageInit[];
  readonly last: RawAttach;
}

/** Every step, over every tier, in every way. */
export function everyCase(tiers: readonly TierName[], all: readonly Way[] = ways): readonly Case[] {
  return tiers.flatMap((tier) => steps.flatMap((step) => all.map((way) => ({ tier, step, way }))));
}

/**
 * Aborts each of these streams, some at a time, and then looks at what became of them: answers what broke. With `dies` the
 * gateway is killed as soon as the aborts of a group were acknowledged.
 */
export async function abortStreams(
  world: AbortWorld,
  cases: readonly Case[],
  { atOnce, dies }: { readonly atOnce: number; readonly dies: boolean },
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (let from = 0; from < cases.length; from += atOnce) {
    const group = await Promise.all(cases.slice(from, from + atOnce).map((one) => aborted(world, one)));
    if (dies) await world.die();
    for (const one of group) await one.last.cut();
    broken.push(...(await Promise.all(group.map((one) => brokenIn(world, one)))).flat());
  }
  return [...broken, ...(await world.leftBehind())];
}

/** Brings a stream to its step and aborts it; resolves once the abort was acknowledged or the end was delivered. */
async function aborted(world: AbortWorld, one: Case): Promise<Aborted> {
  const { tier, step, way } = one;
  const names = newNames();
  const sent = [...step.sends(names.key)];
  const own = world.attach(tier, names).send(...sent);
  await step.reach(own, (message) => {
    sent.push(message);
    own.send(message);
  });
  const numbered = say.abort(sent.length);
  const plain = say.abort();
  const afresh = async (...aborts: readonly MessageInit[]) => {
    await own.cut();
    const again = world.attach(tier, names).send(...sent, ...aborts);
    await heard(again, aborts.find(({ seqno }) => seqno !== undefined)?.seqno);
    return again;
  };
  const here = async (abort: MessageInit) => {
    own.send(abort);
    await heard(own, abort.seqno);
    return own;
  };
  const done = async (last: RawAttach): Promise<Aborted> => ({ ...one, names, sent, last });
  switch (way) {
    case "here":
      return done(await here(plain));
    case "here, with a number":
      return done(await here(numbered));
    case "afresh":
      return done(await afresh(plain));
    case "afresh, with a number":
      return done(await afresh(numbered));
    case "twice":
      await here(numbered);
      return done(await afresh(numbered, plain));
    case "lost, and again":
      await own.cut();
      await world.withLostAnswers(async (gateway) => {
        await rawClient(gateway)
          .attach(tier, headersOf(names))
          .send(...sent, numbered)
          .endInput().ended;
      });
      return done(await afresh(numbered));
    default:
      return way satisfies never;
  }
}

/** Until the abort is known to be accepted: by its acknowledgement, or by the end of the stream. */
async function heard(attach: RawAttach, seqno: number | undefined): Promise<void> {
  const isOver = attach.ended.then(() => undefined);
  await Promise.race([
    isOver,
    attach.until(({ acks, end }) => end !== undefined || (seqno !== undefined && acks.includes(seqno))),
  ]);
}

/** What is wrong with a stream that was aborted, for a client that comes back to it twice. */
async function brokenIn(world: AbortWorld, { tier, step, way, names, sent }: Aborted): Promise<readonly string[]> {
  const which = `${tier}, ${step.name}, ${way}`;
  const [first, second] = [await whole(world, tier, names), await whole(world, tier, names)];
  const broken: string[] = [];
  const ends = first.chunks.filter(({ streamEnd }) => streamEnd !== undefined).length;
  if (ends !== 1 || first.end === undefined) return [`${which}: ${ends} ends (${(await first.ended)?.message})`];
  const { outcome, reason } = first.end;
  const isCancelled = outcome === StreamEnd_Outcome.CANCELLED && reason === "client";
  const isFinished = outcome === StreamEnd_Outcome.FINISHED && step.mayEnd;
  if (!isCancelled && !isFinished) broken.push(`${which}: ended as ${outcome}, ${reason}`);
  if (first.text.length >= longAnswer) broken.push(`${which}: the model went on to its end`);
  if (bytesOf(first) !== bytesOf(second)) broken.push(`${which}: ends otherwise the second time`);
  const { messages } = await world.ide.report();
  const prompts = messages.filter(({ text }) => text.includes(names.key));
  const most = sent.some((message) => isResult(message)) ? step.mostPrompts : Math.min(1, step.mostPrompts);
  if (prompts.length > most) broken.push(`${which}: ${prompts.length} prompts`);
  return broken;
}

/** The stream from its beginning to its end. */
async function whole(world: AbortWorld, tier: TierName, names: StreamNames): Promise<RawAttach> {
  for (;;) {
    const attach = world.attach(tier, names).endInput();
    const error = await attach.ended;
    const seconds = Number(error?.metadata.get("retry-after") ?? 0);
    if (attach.end !== undefined || seconds === 0) return attach;
    await pause(seconds * 1_000); // too many attaches for one caller in a minute
  }
}

function isResult({ request }: MessageInit): boolean {
  return request?.case === "clientChunk" && request.value?.request?.case === "clientSideToolV2Result";
}

function bytesOf({ chunks }: RawAttach): string {
  return chunks.map((chunk) => Buffer.from(toBinary(ChunkSchema, chunk)).toString("hex")).join();
}
