import type { Bench, Ran, Scenario } from "./bench.ts";
import type { ClientCase } from "./cases/case.ts";

export type Outcome =
  | { readonly type: "passed" | "not possible" | "known"; readonly note: string; readonly ms: number }
  | { readonly type: "failed"; readonly note: string; readonly ms: number; readonly ran: Ran | undefined };

/** How many prompts one scenario may cost at most: more is our fault. Two where a client asks for a title beside the answer. */
const mostPrompts: Readonly<Record<Scenario, number>> = { plain: 2, tools: 5, json: 4, image: 3, cancel: 2, error: 2 };

/** Drives one scenario and judges it by what the client said and by what reached the model. */
export async function drive(client: ClientCase, scenario: Scenario, bench: Bench): Promise<Outcome> {
  const way = client.drive[scenario];
  if (typeof way === "string") return { type: "not possible", note: way, ms: 0 };
  const before = await bench.reached();
  const startedAt = performance.now();
  const known = client.known?.[scenario];
  let ran: Ran | undefined;
  let wrong: string | undefined;
  try {
    ran = await way(bench);
    await judge(scenario, ran, bench, before.prompts.length, before.cancels);
  } catch (error) {
    wrong = error instanceof Error ? error.message : String(error);
  }
  const ms = performance.now() - startedAt;
  if (wrong === undefined) {
    if (known === undefined) return { type: "passed", note: "", ms };
    return { type: "failed", note: "it is known to fail and did not: take it off the list", ms, ran };
  }
  return known === undefined ? { type: "failed", note: wrong, ms, ran } : { type: "known", note: known, ms };
}

async function judge(scenario: Scenario, ran: Ran, bench: Bench, messages: number, cancels: number): Promise<void> {
  const said = ran.stdout + ran.stderr;
  if (scenario === "cancel") {
    const patience = AbortSignal.timeout(120_000);
    const isTold = (report: { readonly cancels: readonly unknown[] }) => report.cancels.length > cancels;
    const waiting = bench.acp ? bench.ide.untilAgent(isTold, patience) : bench.ide.until(isTold, patience);
    const told = await waiting.catch(() => undefined);
    expect(told !== undefined, "the model's work was not cancelled");
  } else if (scenario === "plain") expect(ran.stdout.includes("milled-4711"), "the answer did not arrive");
  else if (scenario === "tools") {
    for (const result of ["millrace-1", "millrace-2", "millrace-3"])
      expect(/tools said/.test(said) && said.includes(result), `the result ${result} did not come back`);
  } else if (scenario === "json") {
    expect(/"city"\s*:|city\\?":/.test(ran.stdout) && /days/.test(ran.stdout), "no JSON of the schema arrived");
  } else if (scenario === "error") expect(/quota|limit|credit/i.test(said), "the user is not told why");
  const sent = (await bench.reached()).prompts.slice(messages);
  expect(sent.length > 0, "nothing reached the model");
  expect(sent.length <= mostPrompts[scenario], `${sent.length} prompts were sent`);
  const texts = new Set(sent.map(({ text }) => text));
  expect(scenario !== "error" || texts.size === sent.length, "a refused prompt was sent again");
  if (scenario === "image")
    expect(
      sent.some(({ images }) => images.length > 0),
      "the picture did not reach the model",
    );
  if (scenario !== "error" && scenario !== "cancel") expect(ran.code === 0, `it ended with code ${ran.code}`);
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
