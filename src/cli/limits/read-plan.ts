import type { Clock } from "../../base/clock.ts";
import { MillraceError, toMillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import type { DiscoveryResult, Ide, IdeFinder } from "../../ide/ide.ts";
import { upstreamReason } from "../../language-server/errors/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { UserStatus } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { readAntigravityPlan } from "../../usage/antigravity-calls.ts";
import { type PlanAnswer, snapshotOfAnswer } from "../../usage/plan-answer.ts";
import type { MessagesLeft } from "../../usage/windsurf-plan.ts";
import { promptable, realFirst, withoutServer } from "../serve/servers.ts";

/**
 * Asks every running IDE for its plan: the newest of each product, and a stand-in only where no real one runs. If a product's IDE
 * does not run or does not report the plan, the plan that its app saved is used. An IDE that fails becomes a failed answer beside the
 * others, and the finder searches again. A build that only lacks the call has not failed.
 *
 * @throws MillraceError `ide_not_running` when none runs and none saved a plan.
 */
export async function readPlans(finder: IdeFinder, clock: Clock, signal: AbortSignal): Promise<readonly PlanAnswer[]> {
  const found = await finder.find(signal);
  // In order of preference, newest first: the first IDE of a product is the chosen one. The same rule chooses where prompts go.
  const [antigravity, prompted] = [found.ides.filter(({ variant }) => variant === "antigravity"), promptable(found)];
  const chosen = [...Map.groupBy([...prompted, ...realFirst(antigravity)], ({ variant }) => variant).values()].flatMap(
    (ofVariant) => {
      const ide = ofVariant.find(({ signedIn }) => signedIn) ?? ofVariant[0];
      return ide === undefined ? [] : [ide];
    },
  );
  const asked = await Promise.all(
    chosen.map(async (ide): Promise<PlanAnswer> => {
      const answer = await askOrFail(finder, ide, clock, signal);
      return ide.standIn === true && answer.type !== "failed" && answer.type !== "saved"
        ? { ...answer, standIn: true }
        : answer;
    }),
  );
  const told = new Set(asked.filter(tellsLimits).map(({ ide }) => ide));
  const saved = (await (found.readSavedPlans?.(signal) ?? [])).filter(
    ({ variant }) => !told.has(variant) && standInOf(found, variant) !== "gone",
  );
  if (asked.length === 0 && saved.length === 0) throw noPlan(found);
  const stoodIn = new Set(saved.map(({ variant }) => variant as string));
  return [
    // The saved plan goes first: its limits count if the IDE's answer has none.
    ...saved.map(
      (plan): PlanAnswer => ({
        type: "saved",
        ide: plan.variant,
        build: plan.build,
        ...(standInOf(found, plan.variant) === undefined ? {} : { standIn: true }),
        rows: plan,
      }),
    ),
    ...asked.filter((answer) => !(lacksTheCall(answer) && stoodIn.has(answer.ide))),
  ];
}

/** Whether only a stand-in can have saved this product's plan, and whether it still runs. */
function standInOf({ ides, apps = [] }: DiscoveryResult, variant: string): "runs" | "gone" | undefined {
  const running = ides.filter((ide) => ide.variant === variant);
  const installed = apps.filter((app) => app.variant === variant);
  const all = [...running, ...installed];
  if (all.length === 0 || all.some(({ standIn }) => standIn !== true)) return undefined;
  return running.length > 0 || installed.some((app) => app.running) ? "runs" : "gone";
}

/** An agent program answers prompts without an editor, but does not report the plan: that of an app says what its editor lacks. */
function noPlan(found: DiscoveryResult): MillraceError {
  const agent = found.agents.find(({ signedIn }) => signedIn !== "no");
  if (agent?.from === "app") return withoutServer({ ...found, agents: [] });
  if (agent === undefined) {
    return new MillraceError(
      "ide_not_running",
      "No IDE with a language server is running, and no app has saved its plan.",
    );
  }
  return new MillraceError("ide_not_running", `The plan is unknown, because ${agent.product} does not report it.`, {
    hint: "Open Devin Desktop with the same account: it reports the plan. `millrace usage --by model` shows what the gateway used.",
  });
}

async function askOrFail(finder: IdeFinder, ide: Ide, clock: Clock, signal: AbortSignal): Promise<PlanAnswer> {
  try {
    return await readPlan(finder, ide, clock, signal);
  } catch (error) {
    const answer = { type: "failed", ide: ide.variant, error: toMillraceError(error) } as const;
    if (!lacksTheCall(answer)) {
      finder.invalidate(ide, upstreamReason(error) === "not_the_server" ? "stranger" : "failed");
    }
    return answer;
  }
}

/** Whether an answer holds limits; of Antigravity's own forms each one counts. */
function tellsLimits(answer: PlanAnswer): boolean {
  if (answer.type === "failed" || answer.type === "saved") return false;
  if (answer.type === "antigravity") return true;
  return snapshotOfAnswer(answer, 0).windows.some(({ state }) => state !== "unknown");
}

function lacksTheCall(answer: PlanAnswer): boolean {
  if (answer.type !== "failed") return false;
  const reason = upstreamReason(answer.error);
  return reason === "not_implemented" || reason === "retired";
}

async function readPlan(finder: IdeFinder, ide: Ide, clock: Clock, signal: AbortSignal): Promise<PlanAnswer> {
  const { variant, build } = ide;
  const server = await finder.connect(ide, signal); // also holds that the port still belongs to that process
  if (variant === "antigravity") {
    const plan = await readAntigravityPlan(ide.endpoint, clock.now(), signal);
    return { type: "antigravity", ide: variant, build, ...plan };
  }
  const userStatus = await server.getUserStatus(signal);
  const messages = await messagesLeft(server, userStatus, signal);
  return {
    type: "windsurf",
    ide: variant,
    build,
    userStatus,
    ...(messages === undefined ? {} : { messages }),
  };
}

/** Messages left for the first model of the IDE's list. Left out if the build does not report them. */
async function messagesLeft(
  server: Pick<LanguageServer, "messageLimit">,
  { cascadeModelConfigData: models }: UserStatus,
  signal: AbortSignal,
): Promise<MessagesLeft | undefined> {
  const listed = models?.clientModelConfigs ?? [];
  const preferred = models?.defaultOverrideModelConfig?.modelUid;
  const model = listed.find(({ modelUid }) => modelUid === preferred) ?? listed.find(({ disabled }) => !disabled);
  if (model === undefined || model.modelUid === "") return undefined;
  try {
    const limit = await server.messageLimit(model.modelUid as ModelUid, signal); // this is where they come from
    if (limit?.messagesRemaining === undefined || limit.maxMessages === undefined) return undefined;
    const { messagesRemaining: remaining, maxMessages: max, resetsInMs } = limit;
    return { model: model.label, remaining, max, resetsInMs };
  } catch {
    return undefined; // the plan counts more
  }
}
