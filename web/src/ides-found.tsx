import { productOfIde } from "../../src/base/ide-name.ts";
import type { IdesFound as Found } from "./api.ts";
import { Loaded, Prose, Section } from "./parts.tsx";
import type { DataState } from "./use-data.ts";

/** The IDEs that the gateway found, with doctor's verdicts. */
export function IdesFound({ ides }: { readonly ides: DataState<Found> }) {
  return (
    <Section id="ides" title="IDEs found">
      <Loaded state={ides} lines={2}>
        {(data) => (
          <div class="card">
            {data.data.length > 0 && (
              <ul class="rows">
                {data.data.map((ide) => (
                  <li key={`${ide.variant} ${ide.build} ${ide.pid}`}>
                    <div class="what">
                      <span>
                        {productOfIde(ide.variant)} {ide.stand_in && <span class="badge warn">stand-in</span>}
                      </span>
                      <span class="muted">
                        {[ide.build, ide.pid === null ? "" : `process ${ide.pid}`]
                          .filter((part) => part !== "")
                          .join(", ")}
                      </span>
                    </div>
                    <span class={`badge ${tones[ide.state]}`}>{ide.state}</span>
                  </li>
                ))}
              </ul>
            )}
            <Findings found={data} />
          </div>
        )}
      </Loaded>
    </Section>
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
