import { Bench, type Ran } from "../bench.ts";
import type { ClientCase } from "../cases/case.ts";
import type { Recorded } from "../recorder.ts";
import type { Failure } from "./failure.ts";

/** How long a client may go on after a failure before it counts as one that does not stop. */
const patienceMs = 90_000;
/** The same for a client that takes most of a minute to start, and longer beside other work. */
const patienceWithSlowMs = 240_000;

/** What a client did after a failure. */
export interface ClientReport {
  /** The requests for an answer that it sent, and their statuses in order. */
  readonly requests: number;
  readonly statuses: readonly (number | undefined)[];
  /** When each of them came and when its answer had ended, since the first one. */
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number }[];
  /** What reached the model. */
  readonly prompts: number;
  /**
   * From its first request until the user could read why, without what the gateway waited for a processor; undefined: never. So the
   * machine's other work hardly counts.
   */
  readonly messageAfterMs: number | undefined;
  /** From its first request until it ended; undefined: it had to be killed. */
  readonly endedAfterMs: number | undefined;
  /** A repeat of its own brought an answer. */
  readonly answered: boolean;
  readonly ran: Ran;
  readonly userAgent: string;
}

const asksForAnswer =
  /\/(?:chat\/completions|responses|messages|completions|api\/chat|models\/[^/]+:\w*[gG]enerateContent)(?:\?|$)/;

/** Has a client ask a question that fails, in a world of its own. */
export async function observe(clients: string, client: ClientCase, failure: Failure): Promise<ClientReport> {
  if (client.ask === undefined) throw new Error(`${client.name} has no way to be asked`);
  const { model } = failure;
  const bench = await Bench.open(clients, {
    patienceMs: client.slow === true ? patienceWithSlowMs : patienceMs,
    ...(model === undefined ? {} : { model }),
  });
  try {
    if (failure.withoutIde === true) await bench.ide.stop();
    const ran = await client.ask(bench, failure.prompt);
    const endedAtMs = performance.now();
    const asked = bench.recorder.requests.filter(({ method, path }) => method === "POST" && asksForAnswer.test(path));
    const since = asked[0]?.atMs ?? endedAtMs;
    const shown = firstShown(ran, failure.words);
    const waitedMs = (shown?.waitedMs ?? 0) - (asked[0]?.waitedMs ?? 0);
    return {
      requests: asked.length,
      statuses: asked.map(({ status }) => status),
      spans: asked.map(({ atMs, endedAtMs = performance.now() }) => ({
        fromMs: atMs - since,
        toMs: endedAtMs - since,
      })),
      prompts: failure.withoutIde === true ? 0 : ((await bench.ide.report()).calls["SendUserCascadeMessage"] ?? 0),
      messageAfterMs: shown === undefined ? undefined : Math.max(0, shown.atMs - since - waitedMs),
      endedAfterMs: ran.killed ? undefined : endedAtMs - since,
      answered: ran.code === 0 && asked.length > 1 && shown === undefined && asked.at(-1)?.status === 200,
      ran,
      userAgent: userAgentOf(asked),
    };
  } finally {
    await bench.close();
  }
}

/** What does not hold of it; undefined when all does. */
export function wrongWith(
  { promptsEach = 1 }: ClientCase,
  { mostPrompts }: Failure,
  seen: ClientReport,
): string | undefined {
  if (seen.requests === 0) return "it sent no request";
  if (seen.prompts > mostPrompts * promptsEach) return `${seen.prompts} prompts were sent`;
  if (seen.messageAfterMs === undefined && !seen.answered) return "the user is not told why";
  if (seen.endedAfterMs === undefined) return "it does not stop";
  return undefined;
}

/** The piece with which the words were complete on standard output or standard error. Line breaks and escape sequences do not count. */
function firstShown({ pieces }: Ran, words: RegExp): Ran["pieces"][number] | undefined {
  const written = { stdout: "", stderr: "" };
  return pieces.find((piece) => {
    written[piece.stream] += piece.text;
    return words.test(plain(written[piece.stream]));
  });
}

const escapeSequence = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g");

function plain(text: string): string {
  return text.replace(escapeSequence, "").replace(/\s+/g, " ");
}

function userAgentOf(asked: readonly Recorded[]): string {
  const agent = asked[0]?.headers["user-agent"];
  return typeof agent === "string" ? agent : "";
}
