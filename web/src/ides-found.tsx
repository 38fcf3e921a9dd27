import { api } from "./api.ts";
import { Section } from "./parts.tsx";
import { useData } from "./use-data.ts";
import { ideName } from "./words.ts";

/** The IDEs that the gateway found, with what it thinks of each. */
export function IdesFound() {
  const { data } = useData("health", api.health, 30_000);
  const ides = data?.details?.ides;
  if (data === undefined) return null;
  return (
    <Section id="ides" title="IDEs found">
      <div class="card">
        {ides === undefined || ides.length === 0 ? (
          <p class="muted">
            None runs now. <code>millrace doctor</code> shows what was looked at.
          </p>
        ) : (
          <ul class="rows">
            {ides.map((ide) => (
              <li key={`${ide.variant} ${ide.build}`}>
                <div class="what">
                  <span>{ideName(ide.variant)}</span>
                  <span class="muted">{ide.build}</span>
                </div>
                <span class={`badge ${ide.state === "ready" ? "good" : "warn"}`}>{ide.state.replaceAll("_", " ")}</span>
              </li>
            ))}
          </ul>
        )}
        <p class="note">Millrace {data.version}</p>
      </div>
    </Section>
  );
}
