import {
  type Follower,
  type FollowerState,
  type FollowStep,
  followRun,
  followShort,
  type TranscriptSnapshot,
} from "./follower.ts";
import { kindOfTypeName } from "./step-kinds.ts";
import { readTranscript, type TranscriptBlock } from "./transcript-blocks.ts";
import { type Entry, plainEntry, spliceTail, viewOf } from "./turn-entries.ts";
import { advance } from "./turn-progress.ts";
import type { RunSnapshot } from "./turn-view.ts";

/** A transcript this long (UTF-16 units, or bytes of UTF-8) that does not end as one should was cut; they are at about 200,000. */
const cutLength = 190_000;

/**
 * The new events of one more transcript. Pure. The fallback for builds without typed steps. It has no thinking and no step status,
 * error texts on some builds only, and nothing past 200,000 characters from the requested step; a longer answer fails the turn with
 * an error that says so. Source: docs/dev/wire/cascade.md, "Transcript".
 */
export function followTranscript(state: FollowerState, snapshot: TranscriptSnapshot | RunSnapshot): FollowStep {
  if (snapshot.kind === "run") return followRun(state, snapshot);
  const { sent } = state.progress;
  if (
    state.progress.phase === "following" &&
    !state.mustReread &&
    !sent.holds &&
    sameTranscript(state.seen, snapshot)
  ) {
    return { events: [], state };
  }
  const { start, firstIndex } = state;
  const isPartOfMany = state.uneven && snapshot.offset > 0; // then the number of steps does not say how many messages there are
  const asked = isPartOfMany ? 0 : Math.max(0, snapshot.totalSteps - snapshot.offset);
  const { blocks, missing } = readTranscript(snapshot.transcript, asked, start.prompt);
  const cut = looksCut(snapshot.transcript, missing);
  if (!state.uneven && ((missing > 0 && !cut) || !areEven(blocks))) {
    return {
      events: [],
      state: { ...state, uneven: true, offset: firstIndex, wholeFrom: firstIndex, mustReread: true },
    };
  }
  const keep = snapshot.offset - firstIndex;
  const short = !cut && keep + blocks.length < state.entries.length ? followShort(state) : undefined;
  if (short !== undefined) return short;
  const entries = spliceTail(state.entries, keep, blocks.map(entryOf));
  if (entries === undefined) {
    const wholeFrom = snapshot.offset > state.wholeFrom ? state.wholeFrom : firstIndex; // even that place has moved
    return { events: [], state: { ...state, wholeFrom, offset: wholeFrom, mustReread: true } };
  }

  const from = state.uneven ? 0 : start.fromStep - firstIndex;
  const { view, lastAnswer, firstOpen } = viewOf(entries, from, start.fresh, start.ideTools);
  const answerAt = lastAnswer === undefined ? undefined : firstIndex + lastAnswer;
  const lastIsAnswer = answerAt === firstIndex + entries.length - 1;
  const alone = blocks.length === 1 || state.uneven;
  const tooLong = cut && lastIsAnswer && alone;
  if (cut && missing > 0 && !state.uneven && !tooLong) {
    const wholeFrom = lastIsAnswer ? answerAt : firstIndex + entries.length;
    return { events: [], state: { ...state, entries, wholeFrom, offset: wholeFrom, mustReread: true } };
  }
  const whole = snapshot.offset <= state.wholeFrom;
  const { events, progress } = advance(state.progress, { ...view, cut: tooLong }, snapshot.atMs, whole, start.errorOf);
  const wholeFrom = cut && lastIsAnswer ? answerAt : state.wholeFrom;
  const heldAt = progress.sent.holds && firstOpen !== undefined ? firstIndex + firstOpen : undefined;
  const tail = state.uneven ? firstIndex : Math.max(wholeFrom, heldAt ?? answerAt ?? wholeFrom);
  const offset = progress.phase === "closing" ? wholeFrom : tail;
  return {
    events,
    state: { ...state, entries, progress, offset, wholeFrom, seen: snapshot, mustReread: false, shortPolls: 0 },
  };
}

/** Reads a turn from the flat text of its trajectory. */
export const transcriptFollower: Follower = {
  follow: followTranscript,
  read(server, { cascadeId, state: { offset }, now }, signal) {
    return server.getTranscript(cascadeId, offset, signal).then(({ transcript, numTotalSteps: totalSteps }) => ({
      kind: "transcript",
      atMs: now(),
      offset,
      transcript,
      totalSteps,
    }));
  },
};

/** Whether a message's number is its place, as it is on most builds. */
function areEven(blocks: readonly TranscriptBlock[]): boolean {
  return blocks.every(({ number }, i) => number === (blocks[0]?.number ?? 0) + i);
}

function sameTranscript(a: TranscriptSnapshot | undefined, b: TranscriptSnapshot): boolean {
  return a?.transcript === b.transcript && a.offset === b.offset && a.totalSteps === b.totalSteps;
}

/** A transcript ends with the blank line of its last message; a cut one ends anywhere, or lacks messages. */
function looksCut(transcript: string, missing: number): boolean {
  if (transcript.length * 3 < cutLength) return false;
  const long = transcript.length >= cutLength || new TextEncoder().encode(transcript).length >= cutLength;
  return long && (missing > 0 || !transcript.endsWith("\n\n"));
}

const marker = /^\[CORTEX_STEP_TYPE_([A-Z0-9_]+)\](?:\s+([\s\S]*))?$/;

function entryOf(block: TranscriptBlock, index: number, blocks: readonly TranscriptBlock[]): Entry {
  switch (block.role) {
    case "User":
      return plainEntry("user");
    case "Assistant": {
      // a message after it shows that the planner has moved on; without one, only the run status shows that
      const phase = index < blocks.length - 1 ? "followed" : "unmarked";
      return { ...plainEntry("answer"), id: String(block.number), answer: { text: block.body, thinking: "" }, phase };
    }
    case "System":
    case "Tool": {
      const [, name, text = ""] = marker.exec(block.body) ?? [];
      const kind = name === undefined ? "quiet" : kindOfTypeName(name);
      if (kind === "error") return { ...plainEntry(kind), error: { details: text.trim() || undefined } };
      return plainEntry(kind === "answer" || kind === "user" ? "quiet" : kind, name);
    }
  }
}
