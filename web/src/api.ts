import type { z } from "zod";
import { localZone } from "../../src/base/time-zone.ts";
import type { KeysEnvelope, ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import type { TurnSummary } from "../../src/gateway/dashboard/turn-summary.ts";
import type { BlockedEnvelope, RefusedEnvelope } from "../../src/gateway/http/refused-envelope.ts";
import type { consentsSchema } from "../../src/gateway/routes/answer-schemas.ts";
import type { LimitsEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import type { TurnBarsEnvelope, TurnPageEnvelope } from "../../src/usage/turn-page-envelope.ts";
import type { UsageDaysEnvelope } from "../../src/usage/usage-days-envelope.ts";
import type { Times } from "./address.ts";
import { noteAnswer, noteSilence } from "./gateway-link.ts";

/** What the gateway says of a turn while it runs and after. */
export type LiveTurn = TurnSummary;

/** A turn's page. */
export interface TurnDetail extends LiveTurn {
  readonly shows_text: boolean;
  /** Only where texts are shown. */
  readonly prompt: readonly { readonly role: string; readonly text: string }[] | null;
}

/** One entry of a turn's log; its text only where texts are shown. */
export interface TimelineEntry {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly characters: number | null;
  readonly detail: string | null;
  /** Of a tool call: whether its arguments end here. */
  readonly done?: boolean;
  readonly text?: string | null;
  /** Of a failure. */
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

export interface LimitsHistory {
  readonly object: "limits.history";
  readonly since: string;
  readonly data: readonly {
    readonly ide: string;
    readonly window: string;
    readonly label: string;
    /** Epoch seconds and the share used, 0..1; null where it was not known. */
    readonly points: readonly (readonly [number, number | null])[];
  }[];
}

/** The IDEs found, with doctor's verdicts. */
export interface IdesFound {
  readonly data: readonly {
    readonly variant: string;
    readonly stand_in: boolean;
    readonly build: string;
    readonly pid: number | null;
    readonly state: "ready" | "not signed in" | "metered only" | "not answering";
  }[];
  readonly findings: readonly {
    readonly area: string;
    readonly level: "ok" | "note" | "warning" | "error";
    readonly what: string;
    readonly todo?: string;
  }[];
  readonly rejected: readonly { readonly subject: string; readonly why: string }[];
}

/** The IDEs that prompts go to, and since when the user agrees to it. */
export type Consents = z.infer<typeof consentsSchema>;

export interface Health {
  readonly version: string;
  /** Null while the owner has not paused the gateway. */
  readonly paused?: { readonly since: string | null } | null;
  readonly refused?: RefusedEnvelope;
  readonly blocked?: BlockedEnvelope;
  /** Whether the event log can be written. */
  readonly store?: {
    readonly degraded: boolean;
    readonly why: string | null;
    readonly hint: string | null;
    /** The log was damaged when the gateway opened it, and is new: where the old file is kept. */
    readonly damaged?: { readonly copy: string } | null;
  };
  /** Where prompts go. */
  readonly details?: { readonly backend?: { readonly kind: string; readonly product?: string } };
}

/** The session ended, or there was none. */
export class SignedOut extends Error {
  override readonly name = "SignedOut";
}

/** What the gateway said was wrong, and what to do about it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly hint: string;
  readonly status: number | undefined;

  constructor(message: string, hint: string, status?: number) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Nothing answered: the banner says so for the whole page. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

const sessionName = "millrace-session";

/** An answer that takes longer does not come: a part of the page that waits for ever says nothing. */
const answerMs = 30_000;

/** This browser's session; null where it has none. The storage belongs to this scheme, host and port: a page of another port cannot read it. */
export function storedSession(): string | null {
  return localStorage.getItem(sessionName);
}

/** Calls back when another tab signed in or out. */
export function onSessionChange(listener: () => void): () => void {
  const onStorage = ({ key }: StorageEvent) => {
    if (key === sessionName || key === null) listener();
  };
  addEventListener("storage", onStorage);
  return () => removeEventListener("storage", onStorage);
}

/** Turns the code of a link into this browser's session. Throws `ApiError` when the link was used or has expired. */
export async function signIn(code: string): Promise<void> {
  const path = `/sign-in?${new URLSearchParams({ code }).toString()}`;
  const { session } = await ask<{ readonly session: string }>(path, { method: "POST" });
  localStorage.setItem(sessionName, session);
}

/** Ends this browser's session, in every tab. */
export async function signOut(): Promise<void> {
  await ask<unknown>("/sign-out", { method: "POST" });
  localStorage.removeItem(sessionName);
}

/** JSON from the gateway. Throws `SignedOut`, `ApiError` or `Unreachable`. */
async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const late = AbortSignal.timeout(answerMs);
  const left = init.signal ?? undefined;
  try {
    const response = await send(path, { ...init, signal: left === undefined ? late : AbortSignal.any([left, late]) });
    return (await response.json()) as T; // the gateway that served this page answers in its own form
  } catch (error) {
    if (left?.aborted === true || error instanceof ApiError || error instanceof SignedOut) throw error;
    if (late.aborted) throw new ApiError("The gateway took longer than 30 seconds to answer.", "Try again.");
    noteSilence(); // it went away, perhaps in the middle
    throw new Unreachable("The gateway does not answer.");
  }
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  const headers = new Headers(init.headers);
  const session = storedSession();
  if (session !== null) headers.set("x-millrace-session", session);
  try {
    response = await fetch(path, { ...init, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    noteSilence();
    throw new Unreachable("The gateway does not answer.");
  }
  noteAnswer();
  if (response.status === 401) {
    if (storedSession() !== session) return send(path, init); // another tab has signed in meanwhile
    localStorage.removeItem(sessionName);
    throw new SignedOut();
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: { message?: string; hint?: string } }; // the gateway's own form
  return new ApiError(
    body.error?.message ?? `The gateway answered ${response.status}.`,
    body.error?.hint ?? "",
    response.status,
  );
}

const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

interface TextsShown {
  readonly shown: boolean;
  readonly kept_seconds: number;
}

const { zone } = localZone();

export type Dimension = UsageEnvelope["by"];

/** The query of `GET /dashboard/api/usage/turns`; an empty value asks for all. */
export type TurnsQuery = Readonly<Record<string, string>>;

export const api = {
  turnPage: (asked: TurnsQuery, signal: AbortSignal) =>
    ask<TurnPageEnvelope>(`/dashboard/api/usage/turns?${new URLSearchParams(asked).toString()}`, { signal }),
  turnBars: (asked: TurnsQuery, signal: AbortSignal) =>
    ask<TurnBarsEnvelope>(`/dashboard/api/usage/bars?${new URLSearchParams(asked).toString()}`, { signal }),
  limits: (signal: AbortSignal) => ask<LimitsEnvelope>("/v1/limits", { signal }),
  limitsHistory: (since: string, signal: AbortSignal) =>
    ask<LimitsHistory>(`/dashboard/api/limits/history?${new URLSearchParams({ since }).toString()}`, { signal }),
  usage: (times: Times, by: Dimension, signal: AbortSignal) =>
    ask<UsageEnvelope>(`/v1/usage?${new URLSearchParams({ ...times, by, time_zone: zone }).toString()}`, { signal }),
  usageDays: (times: Times, signal: AbortSignal) =>
    ask<UsageDaysEnvelope>(
      `/dashboard/api/usage/days?${new URLSearchParams({ ...times, time_zone: zone }).toString()}`,
      { signal },
    ),
  models: (signal: AbortSignal) => ask<ModelsEnvelope>("/dashboard/api/models", { signal }),
  keys: (signal: AbortSignal) => ask<KeysEnvelope>("/dashboard/api/keys", { signal }),
  consents: (signal: AbortSignal) => ask<Consents>("/dashboard/api/consents", { signal }),
  agree: (ide: string) => ask<Consents>("/dashboard/api/consents", json({ ide, agree: true })),
  texts: (signal: AbortSignal) => ask<TextsShown>("/dashboard/api/texts", { signal }),
  /** Showing them is the owner's consent: only a click on a button that says so may call this with `true`. */
  showTexts: (show: boolean) =>
    ask<TextsShown>("/dashboard/api/texts", json(show ? { show, consent: true } : { show })),
  health: (signal: AbortSignal) => ask<Health>("/health", { signal }),
  ides: (signal: AbortSignal) => ask<IdesFound>("/dashboard/api/ides", { signal }),
  turn: (id: string, signal: AbortSignal) =>
    ask<TurnDetail>(`/dashboard/api/turns/${encodeURIComponent(id)}/summary`, { signal }),
  cancel: (id: string) => ask<unknown>(`/v1/turns/${encodeURIComponent(id)}/cancel`, { method: "POST" }),
  stream: (path: string, signal: AbortSignal) => send(path, { signal, headers: { accept: "text/event-stream" } }),
};
