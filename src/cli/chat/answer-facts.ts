import { type Credits, creditsInWords, creditsOf } from "../../usage/prices.ts";
import { defaultModel, idOf, listModels } from "../clients/target.ts";
import type { CommandContext } from "../command.ts";
import type { GatewayClient } from "../gateway-process/gateway-client.ts";
import { endedTurns } from "./pick-turn.ts";

/** How often the usage history is asked for an answer, and the time between, in ms. */
const [mostLooks, againMs] = [10, 100];

/** A model as the gateway resolved its name. */
export interface ChatModel {
  readonly name: string;
  /** Why this one, where neither the user nor the account named it. */
  readonly why?: string | undefined;
}

/** The model that a name means, or the default one. Throws the gateway's `unknown_model` with the nearest names. */
export async function chatModel(
  gateway: GatewayClient,
  asked: string | undefined,
  signal: AbortSignal,
): Promise<ChatModel> {
  const { id: wanted, why } = asked === undefined ? defaultModel(await listModels(gateway, signal)) : { id: asked };
  return { name: await idOf(gateway, wanted, signal), why };
}

/** What an answer used. */
export interface AnswerFacts {
  readonly model: string;
  readonly turn: string | undefined;
  readonly tokens: { readonly in: number; readonly out: number; readonly estimated: boolean } | undefined;
  readonly credits: Credits | undefined;
}

/** Asks the gateway what an answer used. What it does not know yet, or any more, is undefined. */
export async function answerFacts(
  turn: string | undefined,
  model: ChatModel,
  gateway: GatewayClient,
  context: CommandContext,
): Promise<AnswerFacts> {
  const row = turn === undefined ? undefined : await recorded(turn, gateway, context);
  return {
    model: row?.model_name ?? model.name,
    turn,
    tokens: row?.tokens ?? undefined,
    credits: row && creditsOf(row),
  };
}

/** A turn's row in the usage history, which is written a moment after the turn's end. */
async function recorded(
  turn: string,
  gateway: GatewayClient,
  { io, signal }: CommandContext,
): Promise<Awaited<ReturnType<typeof endedTurns>>["data"][number] | undefined> {
  for (let look = 1; ; look++) {
    const [row] = (await endedTurns(gateway, { id: turn }, signal)).data;
    if (row !== undefined || look === mostLooks) return row;
    await io.clock.sleep(againMs, signal);
  }
}

/** `claude-opus-4.7:medium · ~1,204 in, 310 out · ~4 credits · tail 2vg9ncb2`, without what is not known. */
export function spellFacts({ model, turn, tokens, credits }: AnswerFacts): string {
  const count = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });
  const about = (isEstimated: boolean) => (isEstimated ? "~" : "");
  return [
    model,
    tokens &&
      `${about(tokens.estimated)}${count(tokens.in)} tokens in, ${about(tokens.estimated)}${count(tokens.out)} out`,
    credits &&
      (credits.value === 0 ? "free" : `${creditsInWords(credits)} ${credits.value === 1 ? "credit" : "credits"}`),
    turn && `millrace tail ${turn.slice(-8)}`,
  ]
    .filter((part) => part)
    .join(" · ");
}
