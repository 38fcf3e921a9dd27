import { useCallback, useEffect, useRef } from "preact/hooks";
import { api, type Consents, type Health, type IdesFound } from "./api.ts";
import { AgreeButton } from "./consent.tsx";
import { noteTarget, useSilentSince } from "./gateway-link.ts";
import { useStateChange } from "./live-turns.ts";
import { Prose } from "./parts.tsx";
import { type DataState, useData } from "./use-data.ts";
import { instantInWords } from "./words.ts";

/** What the page knows of the gateway, its store, the IDEs and the user's consent. */
export interface PageHealth {
  readonly health: DataState<Health>;
  readonly ides: DataState<IdesFound>;
  readonly consents: DataState<Consents>;
}

const healthEveryMs = 15_000;

/** Reads the health when the feed says that it changed, and now and then. */
export function usePageHealth(): PageHealth {
  const health = useData("health", api.health, healthEveryMs);
  const ides = useData("ides", api.ides, healthEveryMs);
  const consents = useData("consents", api.consents, healthEveryMs);
  const reloads = [health.reload, ides.reload, consents.reload];
  useStateChange(useCallback(() => reloads.forEach((reload) => reload()), reloads));
  const isThere = hasTarget(ides.data, health.data);
  useEffect(() => {
    if (isThere !== undefined) noteTarget(isThere);
  }, [isThere]);
  return { health, ides, consents };
}

interface Problem {
  readonly what: string;
  readonly why: string;
  readonly todo: string;
  /** Nothing is broken: the user chose this, has still to choose, or can make the store safer. */
  readonly isNotice?: true;
  /** The IDE that the user may agree to here. */
  readonly agreeTo?: string;
  /** Where the gateway says since when, epoch ms. */
  readonly sinceMs?: number;
}

/** One banner for all that is wrong now: the gateway, its store, the IDE. Nothing while all is well. */
export function HealthBanner({ health, ides, consents }: PageHealth) {
  const silentSinceMs = useSilentSince();
  const openedMs = useRef(Date.now());
  const seen = useRef(new Map<string, number>());
  const problems = silentSinceMs === undefined ? problemsOf(health.data, ides.data, consents.data) : [gatewaySilent];
  for (const what of seen.current.keys()) if (!problems.some((one) => one.what === what)) seen.current.delete(what);
  return (
    <div
      role="alert"
      class={problems.length === 0 ? "hidden" : `banner ${problems.every(({ isNotice }) => isNotice) ? "warn" : ""}`}
    >
      {problems.map((problem) => {
        const sinceMs = silentSinceMs ?? problem.sinceMs ?? seen.current.get(problem.what) ?? Date.now();
        seen.current.set(problem.what, sinceMs);
        // What was there with the page's first answers began some time before.
        const isSeen = silentSinceMs === undefined && problem.sinceMs === undefined;
        const wasThere = isSeen && sinceMs - openedMs.current < healthEveryMs;
        return (
          <div key={problem.what}>
            <p>
              <strong>{problem.what}</strong> <Prose text={problem.why} />{" "}
              {problem.agreeTo === undefined && (
                <span class="muted">{`${wasThere ? "First seen" : "Since"} ${instantInWords(sinceMs)}. `}</span>
              )}
              <Prose text={problem.todo} />
            </p>
            {problem.agreeTo !== undefined && <AgreeButton ide={problem.agreeTo} onAgreed={consents.reload} />}
          </div>
        );
      })}
    </div>
  );
}

const gatewaySilent: Problem = {
  what: "The gateway does not answer.",
  why: "The values below are from its last answer.",
  todo: "Start it again with `millrace serve`. This page then reconnects by itself.",
};

function problemsOf(
  health: Health | undefined,
  ides: IdesFound | undefined,
  consents: Consents | undefined,
): readonly Problem[] {
  const store = health?.store?.degraded === true ? [storeProblem(health.store)] : [];
  return [
    ...pauseProblem(health),
    ...consentProblems(consents),
    ...store,
    ...damagedStoreProblem(health),
    ...ideProblem(ides, health),
  ];
}

function consentProblems(consents: Consents | undefined): readonly Problem[] {
  const missing = consents?.data.filter((one) => one.accepted_at === null) ?? [];
  return missing.map(({ ide, product, text }) => ({
    what: `You have not agreed yet that prompts go to ${product}.`,
    why: `Until you agree, no prompt is sent there. ${text}`,
    todo: "Agree here, or type `millrace init --accept`.",
    isNotice: true,
    agreeTo: ide,
  }));
}

function pauseProblem(health: Health | undefined): readonly Problem[] {
  if (health?.paused === undefined || health.paused === null) return [];
  const { since } = health.paused;
  return [
    {
      what: "Millrace is paused.",
      isNotice: true,
      why: "No prompt is sent. Stored answers can still be read.",
      todo: "`millrace resume` ends the pause.",
      ...(since === null ? {} : { sinceMs: Date.parse(since) }),
    },
  ];
}

function storeProblem({ why, hint }: NonNullable<Health["store"]>): Problem {
  return {
    what: "The log cannot be written.",
    why: `${why ?? ""} Answers still work, but they cannot be resumed after a restart.`.trim(),
    todo: hint ?? "`millrace doctor` shows more.",
  };
}

function damagedStoreProblem(health: Health | undefined): readonly Problem[] {
  const damaged = health?.store?.damaged;
  if (damaged === undefined || damaged === null) return [];
  return [
    {
      what: "The log was damaged, so a new one was begun.",
      isNotice: true,
      why: `Its file is kept as \`${damaged.copy}\`. A request under an earlier idempotency key may be asked once more.`,
      todo: "This notice ends with the next start of the gateway.",
    },
  ];
}

/** Whether prompts can go somewhere, to an IDE or an agent; undefined until it is known. */
export function hasTarget(ides: IdesFound | undefined, health: Health | undefined): boolean | undefined {
  if (ides === undefined) return undefined;
  if (health?.details?.backend?.kind === "acp") return true; // the user's own agent needs no IDE
  const isGood = ides.findings.some(({ area, level }) => area === "ide" && level === "ok");
  return isGood || ides.data.some(({ state }) => state === "ready");
}

/** Nothing while prompts can go somewhere: what is wrong with another IDE stands in the list of IDEs. */
function ideProblem(ides: IdesFound | undefined, health: Health | undefined): readonly Problem[] {
  const error = ides?.findings.find(({ level }) => level === "error");
  if (error === undefined || hasTarget(ides, health) !== false) return [];
  const why = error.what.endsWith(".") ? error.what : `${error.what}.`;
  return [{ what: "No IDE can be used.", why, todo: error.todo ?? "`millrace doctor` shows more." }];
}
