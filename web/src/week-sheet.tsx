import { useMemo } from "preact/hooks";
import { asksFor, timesOf } from "./address.ts";
import { api } from "./api.ts";
import { SpendTable } from "./spend-section.tsx";
import { useData } from "./use-data.ts";

/** The week on paper, beside the plan: who spent it, by project and by client. On the screen it is not shown. */
export function WeekSheet() {
  const week = useMemo(() => asksFor({ since: "7d" }), []);
  return (
    <div class="sheet">
      <Spent by="project" asked={week} />
      <Spent by="client" asked={week} />
    </div>
  );
}

function Spent({ by, asked }: { readonly by: "project" | "client"; readonly asked: ReturnType<typeof asksFor> }) {
  const { data } = useData(`sheet ${by}`, (signal) => api.usage(timesOf(asked), by, signal), 600_000);
  if (data === undefined || data.data.length === 0) return null;
  return (
    <section>
      <h2>{`Spent in seven days, by ${by}`}</h2>
      <SpendTable usage={data} asked={asked} />
    </section>
  );
}
