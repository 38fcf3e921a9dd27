import { MillraceError } from "../../base/errors.ts";
import type { LimitsEnvelope, LimitsWindowEnvelope } from "../../usage/envelope.ts";
import { durationInWords } from "../../usage/pace-words.ts";
import { type Command, defineCommand } from "../command.ts";
import type { OpenLimitsSource } from "../limits/limits-source.ts";
import { duration, flag, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

interface Checked {
  readonly ide: string;
  readonly window: string;
  readonly remaining_percent: number | null;
  readonly enough: boolean | null;
  readonly age_seconds: number;
  /** The reading is older than `--max-age`. */
  readonly too_old: boolean;
}

/** `millrace guard`: whether enough of the limit is left, as an exit code for scripts. */
export function guardCommand(openSource: OpenLimitsSource): Command {
  return defineCommand({
    ...outlines.guard,
    description:
      "For scripts. Exits with 0 if every limit has at least the given share left, and with 1 if one has less. Exits with 75 if the reading is older than --max-age, with 69 if Millrace does not know (no IDE, no reading, or a reading that expired), and with 64 if there is no such limit.",
    options: {
      minRemaining: integer("share that must be left, in percent", "<percent>", {
        min: 0,
        max: 100,
        initial: 10,
      }),
      maxAge: duration("refuse a reading that is older than this, with exit code 75", undefined, {
        defaultText: "the reading's own time to expire, then 69",
      }),
      window: text("check only this limit, by its name in `millrace usage --json`, such as weekly", "<id>"),
      ide: text("show only this IDE: windsurf, windsurf-next or antigravity", "<ide>"),
      json: flag("print JSON"),
    },
    examples: [
      ["millrace guard --min-remaining 15 --window weekly && ./nightly.sh", "run the script only if 15 % are left"],
      ["millrace guard --max-age 10m", "the reading must be at most ten minutes old"],
    ],
    async run({ options }, context) {
      const source = await openSource(context);
      try {
        const checked = check(await source.limits(context.signal), options);
        if (options.json) context.out.json({ data: checked });
        else for (const entry of checked) context.out.note(sentence(entry, options));
        if (checked.some(({ enough }) => enough === false)) return exitCodes.negative;
        if (checked.some((entry) => entry.too_old)) return exitCodes.tryAgain;
        return checked.some(({ enough }) => enough === null) ? exitCodes.unavailable : exitCodes.ok;
      } finally {
        source.close();
      }
    },
  });
}

interface Asked {
  readonly minRemaining: number;
  readonly maxAge: number | undefined;
}

function check(
  limits: LimitsEnvelope,
  asked: Asked & { readonly ide: string | undefined; readonly window: string | undefined },
): readonly Checked[] {
  const known = ["windsurf", "windsurf-next", "antigravity"];
  if (asked.ide !== undefined && !known.includes(asked.ide)) throw unknown("IDE", asked.ide, known);
  const read = limits.data.filter((of) => asked.ide === undefined || of.ide === asked.ide);
  if (read.length === 0) {
    const [error] = limits.errors;
    throw new MillraceError("ide_not_running", error?.message ?? "No IDE answered.", {
      hint: error?.hint ?? "Start it.",
    });
  }
  const windows = read.flatMap((of) => of.windows.map((window) => ({ of, window })));
  const chosen = windows.filter(({ window }) =>
    asked.window === undefined ? window.kind === "consumption" && window.scope !== "model" : window.id === asked.window,
  );
  if (asked.window !== undefined && chosen.length === 0 && windows.length > 0)
    throw unknown("limit", asked.window, [...new Set(windows.map(({ window }) => window.id))]);
  if (chosen.length === 0)
    throw new MillraceError("ide_not_running", "The IDE did not report the limits of the plan.", {
      hint: "Try again later.",
    });
  return chosen.map(({ of, window }) => {
    const nowMs = Date.parse(limits.now);
    // A minute-old reading still counts here, also if a turn ended since; an expired reading does not.
    const ageMs = nowMs - Date.parse(of.fetched_at);
    const tooOld = asked.maxAge !== undefined && ageMs > asked.maxAge;
    const isExpired = asked.maxAge === undefined ? Date.parse(of.expires_at) < nowMs : tooOld;
    const left = isExpired ? undefined : remainingPercent(window, nowMs);
    return {
      ide: of.ide,
      window: window.id,
      remaining_percent: left === undefined || left === Infinity ? null : left,
      enough: left === undefined ? null : left >= asked.minRemaining,
      age_seconds: Math.round(ageMs / 1000),
      too_old: tooOld,
    };
  });
}

/** Undefined when it is not known; infinite for a window without a limit. */
function remainingPercent(window: LimitsWindowEnvelope, nowMs: number): number | undefined {
  if (window.state === "unlimited") return Infinity;
  if (window.resets_at !== null && Date.parse(window.resets_at) <= nowMs) return undefined;
  if (window.utilization !== null) return Math.round((1 - window.utilization) * 1e6) / 1e4;
  return undefined;
}

function sentence({ ide, window, remaining_percent: left, enough, ...read }: Checked, { minRemaining }: Asked): string {
  const name = `${ide} ${window}`;
  const age = read.age_seconds < 60 ? `${read.age_seconds} s` : durationInWords(read.age_seconds * 1000);
  if (read.too_old) return `${name}: read ${age} ago, longer than --max-age allows.`;
  if (enough === null) return `${name}: not known.`;
  if (left === null) return `${name}: unlimited.`;
  return `${name}: ${left} % left, ${enough ? "enough" : `less than ${minRemaining} %`}.`;
}

function unknown(what: string, given: string, known: readonly string[]): MillraceError {
  return new MillraceError("invalid_request", `There is no ${what} ${JSON.stringify(given)}.`, {
    hint: `There are: ${known.join(", ")}.`,
  });
}
