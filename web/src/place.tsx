import { productOfIde } from "../../src/base/ide-name.ts";
import type { IdesFound as Found, Health } from "./api.ts";
import { useGone } from "./gateway-link.ts";
import { hasTarget, type PageHealth } from "./health-banner.tsx";
import { useLiveTurns } from "./live-turns.ts";
import { Loaded, Prose } from "./parts.tsx";

/** Where prompts go and how that stands, in the heading bar; a click shows the IDEs found, with doctor's verdicts. */
export function Place({ health, ides }: Pick<PageHealth, "health" | "ides">) {
  const gone = useGone();
  const { connection } = useLiveTurns();
  const [name, state] =
    gone === undefined ? targetOf(ides.data, health.data) : [gone === "no gateway" ? "Gateway" : "No IDE", "gone"];
  return (
    <>
      <button type="button" class="quiet place" popovertarget="place">
        <span>{name}</span>
        <span class={`state ${gone === undefined ? (state === "ready" ? "live" : "") : "lost"}`}>{state}</span>
        <span class="hidden" role="status">
          {connections[connection]}
        </span>
      </button>
      <section id="place" class="card panel" popover="auto" aria-labelledby="ides">
        <h2 id="ides">IDEs found</h2>
        <Loaded state={ides} lines={2}>
          {(data) => <Ides found={data} />}
        </Loaded>
      </section>
    </>
  );
}

const connections = { connecting: "connecting", live: "live", lost: "connection lost, trying again" } as const;

/** The product that gets the prompts, and its state. Empty until the state is known. */
function targetOf(ides: Found | undefined, health: Health | undefined): readonly [name: string, state: string] {
  if (ides === undefined) return ["", "looking"];
  const ready = ides.data.find(({ state }) => state === "ready");
  if (ready !== undefined) return [productOfIde(ready.variant), "ready"];
  if (hasTarget(ides, health) === true) return [health?.details?.backend?.product ?? "Agent", "ready"];
  const [first] = ides.data;
  return first === undefined ? ["No IDE", "found"] : [productOfIde(first.variant), first.state];
}

function Ides({ found }: { readonly found: Found }) {
  return (
    <>
      {found.data.length > 0 && (
        <ul class="rows">
          {found.data.map((ide) => (
            <li key={`${ide.variant} ${ide.build} ${ide.pid}`}>
              <div class="what">
                <span>
                  {productOfIde(ide.variant)} {ide.stand_in && <span class="badge warn">stand-in</span>}
                </span>
                <span class="muted">
                  {[ide.build, ide.pid === null ? "" : `process ${ide.pid}`].filter((part) => part !== "").join(", ")}
                </span>
              </div>
              <span class={`badge ${tones[ide.state]}`}>{ide.state}</span>
            </li>
          ))}
        </ul>
      )}
      <Findings found={found} />
    </>
  );
}

const tones = {
  ready: "good",
  "metered only": "plain",
  "not signed in": "warn",
  "not answering": "bad",
} as const satisfies Record<Found["data"][number]["state"], string>;

const marks = { ok: "✓", note: "·", warning: "!", error: "✗" } as const;

function Findings({ found }: { readonly found: Found }) {
  return (
    <>
      <ul class="findings">
        {found.findings.map(({ level, what, todo }) => (
          <li key={what} class={level}>
            <span class="mark" aria-hidden="true">
              {marks[level]}
            </span>
            <span class="hidden">{`${level}: `}</span>
            <span>
              <Prose text={what.endsWith(".") ? what : `${what}.`} />
              {todo !== undefined && (
                <span class="muted">
                  {" "}
                  <Prose text={todo} />
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
      {found.rejected.length > 0 && (
        <details>
          <summary>Checked and not used ({found.rejected.length})</summary>
          <ul class="plain-list">
            {found.rejected.map(({ subject, why }) => (
              <li key={`${subject} ${why}`}>
                <span class="break">{subject}</span>: <span class="muted break">{why}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
