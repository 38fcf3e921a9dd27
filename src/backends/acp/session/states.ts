import type { LinesLost } from "../host/wire.ts";
import type { RelayedCall, ToRelay } from "../relay/relay-wire.ts";

/** Where a session is. Source: docs/dev/session-machine.md, which a test compares with `places`. */
export type Place = "opening" | "idle" | "running" | "parked" | "left" | "ending" | "gone";

/**
 * A call of one of the client's tools, from the agent's call to the end of the turn that brought its result. `fresh`: no turn has handed
 * it to the client. `given`: the client has it, and the agent waits. `lost`: the client has it, and the agent does not wait, or has
 * not said so yet to this gateway. `answered`: `answer` went to the relay, which gets it again after a lost connection.
 */
export interface SessionCall {
  readonly callId: string;
  readonly at: "fresh" | "given" | "lost" | "answered";
  /** The end of the turn that handed it to the client is stored, and no turn with its result has ended since. */
  readonly isStored: boolean;
  /** As the relay told it; undefined before the relay has told it to this gateway. */
  readonly call: RelayedCall | undefined;
  readonly answer: Answer | undefined;
}

type Answer = ToRelay & { readonly type: "answer" };

export interface SessionState {
  readonly place: Place;
  /** Whether the agent works on the last prompt that was sent here. */
  readonly prompt: "none" | "works" | "ended";
  /** The agent certainly has that prompt, or the results. ACP 1 has no message for that: its first sign of work says it. */
  readonly isAccepted: boolean;
  /** The request of that prompt, and the number of the agent's lines before the part that is still to be read. */
  readonly request: { readonly id: number; readonly from: number } | undefined;
  readonly calls: readonly SessionCall[];
  /** Where the agent's lines stood when the client was given calls; undefined once the end of that turn is stored. */
  readonly givenAt: number | undefined;
  /** The relay of the client's tools. */
  readonly relay: "none" | "away" | "here";
  /** Why lines of its prompt are gone, so that nobody knows all of its answer. */
  readonly lost: LinesLost | undefined;
}

/** What the next gateway gets of a session that is not idle. */
export interface SessionNote {
  readonly request: SessionState["request"];
  /** The calls that a client has from a turn whose end is stored. */
  readonly given: readonly string[];
}

export type SessionInput =
  /** The agent has opened it. */
  | { readonly type: "opened" }
  /** An earlier gateway left it. */
  | ({ readonly type: "adopted" } & SessionNote)
  /** A turn has it from now on. `results`: of the calls that it brings results for; `at`: where the agent's lines stand. */
  | { readonly type: "taken"; readonly results?: readonly string[] | undefined; readonly at?: number | undefined }
  /** The turn that left it goes on. */
  | { readonly type: "resumed" }
  | { readonly type: "prompted"; readonly request: { readonly id: number; readonly from: number } }
  /** The agent shows work on the prompt. */
  | { readonly type: "accepted" }
  /** A message of the agent; `line`: its number, where lines are kept. */
  | { readonly type: "update"; readonly line: number | undefined }
  /** The agent calls a tool. `problem`: it is refused with these words. */
  | { readonly type: "call"; readonly call: RelayedCall; readonly problem?: string | undefined }
  /** The agent no longer waits for this call. */
  | { readonly type: "call_dropped"; readonly callId: string }
  /** The turn hands the client these calls, and ends. `at`: where the agent's lines stand. */
  | { readonly type: "given"; readonly callIds: readonly string[]; readonly at: number | undefined }
  /** The turn brings results. */
  | { readonly type: "results"; readonly answers: readonly Answer[] }
  /** The prompt has ended at the agent, or is given up. */
  | { readonly type: "ended" }
  /** The end of the turn is stored, and the session is kept for the next one. */
  | { readonly type: "released" }
  /** The turn goes on in the next gateway. */
  | { readonly type: "detached" }
  /** The turn is over, and the session with it. */
  | { readonly type: "discarded" }
  /** The client asked in another way, in a request with these results. */
  | { readonly type: "superseded"; readonly callIds: readonly string[] }
  /** Nobody continued it in time. */
  | { readonly type: "expired" }
  /** The agent takes too much memory: the session stays stored, and is loaded when it goes on. */
  | { readonly type: "memory" }
  | { readonly type: "agent_died" }
  | { readonly type: "relay_lost" }
  /** The relay names the calls that wait. */
  | { readonly type: "relay_back"; readonly callIds: readonly string[] }
  /** The host gave up lines of its prompt. */
  | { readonly type: "lines_lost"; readonly why: LinesLost }
  /** The agent has deleted or closed it, or did not open it. */
  | { readonly type: "closed" };

export type SessionEffect =
  /** The input comes at a place where it means nothing. Nothing has changed. */
  | { readonly type: "refuse" }
  /** The message belongs to the last prompt. */
  | { readonly type: "read" }
  | { readonly type: "tell"; readonly answer: Answer }
  /** The calls have changed: the turn looks at them. */
  | { readonly type: "wake" }
  /** Stop the agent where it works here, and delete the session. */
  | { readonly type: "delete" }
  /** Close it at the agent, which keeps it stored. */
  | { readonly type: "close" }
  /** Leave the next gateway a note. */
  | { readonly type: "note" }
  /** Nothing here knows it any more. */
  | { readonly type: "forget" };

/**
 * The next place. `rest`: `parked` where its prompt works on, else `idle`. `named`: `ending` where the client has one of the named calls.
 * `unless_waits`: `ending`, and refused where the agent may wait for results. `free`: `running`, and refused where a prompt works that has
 * no tools.
 */
type Next = Place | "same" | "refused" | "rest" | "named" | "unless_waits" | "free";

function row(
  ...[opening, idle, running, parked, left, ending, gone]: readonly [Next, Next, Next, Next, Next, Next, Next]
) {
  return { opening, idle, running, parked, left, ending, gone } satisfies Record<Place, Next>;
}

const anywhere = row("same", "same", "same", "same", "same", "same", "same");
const untilGone = row("same", "same", "same", "same", "same", "same", "refused");
const ofItsTurn = (next: Next) => row("refused", "refused", next, "refused", "refused", "refused", "refused");

/** The whole machine: the next place for each input at each place. */
export const places: Readonly<Record<SessionInput["type"], Readonly<Record<Place, Next>>>> = {
  //               opening    idle       running    parked     left            ending     gone
  opened: row("idle", "refused", "refused", "refused", "refused", "refused", "refused"),
  adopted: row("left", "refused", "refused", "refused", "refused", "refused", "refused"),
  taken: row("refused", "running", "refused", "running", "free", "refused", "refused"),
  resumed: row("refused", "running", "refused", "running", "running", "refused", "refused"),
  prompted: ofItsTurn("running"),
  accepted: anywhere,
  update: anywhere,
  call: untilGone,
  call_dropped: untilGone,
  given: ofItsTurn("running"),
  results: ofItsTurn("running"),
  ended: row("same", "same", "running", "idle", "left", "ending", "gone"),
  released: ofItsTurn("rest"),
  detached: ofItsTurn("left"),
  discarded: row("refused", "refused", "ending", "refused", "refused", "ending", "refused"),
  superseded: row("same", "same", "same", "named", "named", "same", "same"),
  expired: row("refused", "ending", "refused", "ending", "unless_waits", "ending", "refused"),
  memory: row("same", "gone", "same", "same", "same", "same", "same"),
  agent_died: row("gone", "gone", "gone", "gone", "gone", "gone", "gone"),
  relay_lost: untilGone,
  relay_back: untilGone,
  lines_lost: row("same", "same", "same", "same", "left", "same", "same"),
  closed: row("gone", "same", "same", "same", "same", "gone", "gone"),
};

/** One step of the machine: the session's next state, and what to do. Pure. */
export function step(
  state: SessionState,
  input: SessionInput,
): { readonly state: SessionState; readonly effects: readonly SessionEffect[] } {
  const place = nextPlace(state, input);
  if (place === undefined) return { state, effects: [{ type: "refuse" }] };
  const isOver = place === "gone" && state.place !== "gone";
  const next = { ...changed(state, input), place };
  const effects: SessionEffect[] = [];
  if (
    input.type === "update" &&
    state.request !== undefined &&
    (input.line ?? Number.POSITIVE_INFINITY) > state.request.from
  )
    effects.push({ type: "read" });
  for (const answer of isOver ? farewells(state) : answersTold(state, next, input))
    effects.push({ type: "tell", answer });
  if (next.calls !== state.calls) effects.push({ type: "wake" });
  if (place === "ending" && state.place !== "ending") effects.push({ type: "delete" });
  if (isOver && input.type === "memory") effects.push({ type: "close" });
  if (isOver) effects.push({ type: "forget" });
  else if (isNoted(state, next)) effects.push({ type: "note" });
  return { state: isOver ? { ...withoutWork(next), calls: [] } : next, effects };
}

function nextPlace(state: SessionState, input: SessionInput): Place | undefined {
  const next = places[input.type][state.place];
  const works = state.prompt === "works";
  if (next === "same") return state.place;
  if (next === "rest") return works ? "parked" : "idle";
  if (next === "unless_waits") return works && mayWait(state) ? undefined : "ending";
  if (next === "free") return works && state.relay === "none" ? undefined : "running";
  if (next !== "named") return next === "refused" ? undefined : next;
  const named = input.type === "superseded" ? input.callIds : [];
  return given(state).some((callId) => named.includes(callId)) ? "ending" : state.place;
}

/** Everything but the place. */
function changed(state: SessionState, input: SessionInput): SessionState {
  const { calls } = state;
  switch (input.type) {
    case "adopted": {
      const { request } = input;
      const lost = input.given.map((callId) => ({ ...unknownCall(callId), at: "lost", isStored: true }) as const);
      return { ...state, prompt: request === undefined ? "none" : "works", request, calls: lost };
    }
    case "prompted":
      return { ...state, prompt: "works", isAccepted: false, request: input.request, lost: undefined };
    case "accepted":
      return state.prompt === "works" && !state.isAccepted ? { ...state, isAccepted: true } : state;
    case "call": {
      const { call, problem } = input;
      const before = calls.find(({ callId }) => callId === call.callId) ?? unknownCall(call.callId);
      const at = before.at === "fresh" ? "fresh" : "given";
      const known = { ...state, calls: put(calls, { ...before, at, call, answer: undefined }) };
      return problem === undefined ? known : answered(known, [refusal(call.callId, problem)]);
    }
    case "call_dropped":
      return { ...state, calls: calls.flatMap((each) => (each.callId === input.callId ? dropped(each) : [each])) };
    case "taken":
      return missedNote(state, input.results ?? []) ? settled(handed(state, input.results ?? [], input.at)) : state;
    case "given":
      return handed(state, input.callIds, input.at);
    case "results": {
      const after = answered(state, input.answers);
      return { ...after, calls: after.calls.filter(isHad) };
    }
    case "released":
      return settled(state);
    case "ended":
      return withoutWork(state);
    case "relay_lost":
      return { ...state, relay: "away" };
    case "relay_back": {
      const back = (each: SessionCall): SessionCall =>
        each.at === "lost" && input.callIds.includes(each.callId) ? { ...each, at: "given" } : each;
      return { ...state, relay: "here", calls: calls.map(back) };
    }
    case "lines_lost":
      return state.place === "left" ? { ...state, prompt: "none", request: undefined, lost: input.why } : state;
    case "opened":
    case "resumed":
    case "update":
    case "detached":
    case "discarded":
    case "superseded":
    case "expired":
    case "memory":
    case "agent_died":
    case "closed":
      return state;
    default:
      return input satisfies never;
  }
}

function withoutWork(state: SessionState): SessionState {
  return state.prompt === "works" ? { ...state, prompt: "ended" } : state;
}

/**
 * The gateway before was killed after the end of its turn was stored and before the host had a note of it: the client brings results of calls
 * that count as new here.
 */
function missedNote(state: SessionState, results: readonly string[]): boolean {
  const isLeft = state.place === "left" && state.prompt === "works" && given(state).length === 0;
  return isLeft && fresh(state).some(({ callId }) => results.includes(callId));
}

function handed(state: SessionState, callIds: readonly string[], at: number | undefined): SessionState {
  const hand = (each: SessionCall): SessionCall =>
    each.at === "fresh" && callIds.includes(each.callId) ? { ...each, at: "given" } : each;
  return { ...state, isAccepted: false, givenAt: at, calls: state.calls.filter(isHad).map(hand) };
}

/** The end of the turn is stored: where it ended with calls, the next one begins after them. */
function settled(state: SessionState): SessionState {
  const calls = state.calls
    .filter(({ at }) => at !== "answered")
    .map((each) => ({ ...each, isStored: each.at === "given" }));
  const { request, givenAt } = state;
  const from = givenAt === undefined || request === undefined ? {} : { request: { ...request, from: givenAt } };
  return { ...state, ...from, calls, givenAt: undefined };
}

/** An answer to a call that does not wait is ignored; a relay that is not back yet may still have the call. */
function answered(state: SessionState, answers: readonly Answer[]): SessionState {
  let { calls } = state;
  for (const answer of answers) {
    const before = calls.find(({ callId }) => callId === answer.callId);
    if (state.relay === "here" && !(before !== undefined && isOpen(before))) continue;
    calls = put(calls, { ...(before ?? unknownCall(answer.callId)), at: "answered", answer });
  }
  return { ...state, calls };
}

/** Each answer is told once to each connection. */
function answersTold(state: SessionState, next: SessionState, input: SessionInput): readonly Answer[] {
  if (next.relay !== "here") return [];
  const isNew = ({ answer, callId }: SessionCall) =>
    input.type === "relay_back" ? input.callIds.includes(callId) : !state.calls.some((each) => each.answer === answer);
  return next.calls.flatMap((each) => (each.answer !== undefined && isNew(each) ? [each.answer] : []));
}

/** What still waits when the session goes is answered with an error. */
function farewells({ calls }: SessionState): readonly Answer[] {
  return calls.filter(isOpen).map(({ callId }) => refusal(callId, "The client has ended this."));
}

function refusal(callId: string, text: string): Answer {
  return { type: "answer", callId, content: [{ type: "text", text }], isError: true };
}

function unknownCall(callId: string): SessionCall {
  return { callId, at: "fresh", isStored: false, call: undefined, answer: undefined };
}

/** In its place, or as the last one. */
function put(calls: readonly SessionCall[], call: SessionCall): readonly SessionCall[] {
  const isKnown = calls.some(({ callId }) => callId === call.callId);
  return isKnown ? calls.map((each) => (each.callId === call.callId ? call : each)) : [...calls, call];
}

function dropped(call: SessionCall): readonly SessionCall[] {
  if (call.at === "fresh") return [];
  return [call.at === "given" ? { ...call, at: "lost" } : call];
}

const isHad = ({ at }: SessionCall): boolean => at !== "lost";
const isOpen = ({ at }: SessionCall): boolean => at === "fresh" || at === "given";

function isNoted(state: SessionState, next: SessionState): boolean {
  const stored = (calls: readonly SessionCall[]) =>
    calls.flatMap(({ callId, isStored }) => (isStored ? [callId] : [])).join();
  if (state.place !== next.place || state.prompt !== next.prompt || state.request !== next.request) return true;
  return stored(state.calls) !== stored(next.calls);
}

/** A session that is about to be opened, with or without the client's tools. */
export function newState(hasTools: boolean): SessionState {
  const relay = hasTools ? "away" : "none";
  const nothing = { request: undefined, calls: [], givenAt: undefined, lost: undefined };
  return { place: "opening", prompt: "none", isAccepted: false, relay, ...nothing };
}

export function noteOf({ place, request, calls }: SessionState): SessionNote {
  const isStored = (each: SessionCall) => each.isStored;
  return { request: place === "idle" ? undefined : request, given: calls.filter(isStored).map(({ callId }) => callId) };
}

/** The calls that the client does not have yet, in the order in which they came. */
export function fresh({ calls }: SessionState): readonly RelayedCall[] {
  return calls.flatMap(({ at, call }) => (at === "fresh" && call !== undefined ? [call] : []));
}

/** The ids of the calls that the client has and that the agent still waits for. */
export function given({ calls }: SessionState): readonly string[] {
  return calls.flatMap(({ at, callId }) => (at === "given" ? [callId] : []));
}

/** Whether the agent waits for results, or its relay is not back to tell. */
export function mayWait({ calls, relay }: SessionState): boolean {
  return calls.some(isOpen) || relay === "away";
}

/**
 * What the next request of a conversation does in its session, which holds exactly the client's history and which its turn has taken. `prompt`: it
 * is sent. `results`: they go to the prompt that waits. Else why everything is asked anew. `hasTools`: the agent gets the client's tools as its own.
 * `results`: the ids of the results that follow the last answer, undefined where anything else follows it. Pure.
 */
export function nextStep(
  { hasTools, results }: { readonly hasTools: boolean; readonly results: readonly string[] | undefined },
  taken: SessionState,
): "prompt" | "results" | { readonly anew: string } {
  if (taken.relay === "none") return "prompt";
  if (taken.relay === "away") return { anew: "relay_away" };
  if (!hasTools) return { anew: "no_tools" };
  const has = given(taken);
  const hasLost = taken.calls.some(({ at }) => at === "lost");
  const works = taken.prompt === "works";
  if (!works && !hasLost && has.length === 0) return "prompt";
  if (results === undefined) return { anew: "no_results" };
  if (!works) return { anew: "prompt_ended" };
  if (hasLost) return { anew: "calls_given_up" };
  if (has.length === 0) return { anew: "nothing_waits" };
  const isSame = results.length === has.length && has.every((callId) => results.includes(callId));
  return isSame ? "results" : { anew: "other_calls" };
}
