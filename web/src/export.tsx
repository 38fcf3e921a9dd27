import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { api, type TurnsQuery } from "./api.ts";
import { csvOf } from "./csv.ts";
import { Failure } from "./parts.tsx";
import { useAct } from "./use-data.ts";

const atOnce = 1000;

/** Saves all turns that match what is shown, not only one page. */
export function ExportButtons({ asked }: { readonly asked: TurnsQuery }) {
  const { isBusy, error, run } = useAct();
  const save = async (form: "csv" | "json") => {
    const turns = await allTurns(asked);
    const text = form === "csv" ? csvOf(turns) : `${JSON.stringify(turns, null, 2)}\n`;
    download(`millrace-turns.${form}`, form === "csv" ? "text/csv" : "application/json", text);
  };
  return (
    <div class="choices">
      <button type="button" class="quiet" disabled={isBusy} onClick={() => run(() => save("csv"))}>
        Save as CSV
      </button>
      <button type="button" class="quiet" disabled={isBusy} onClick={() => run(() => save("json"))}>
        Save as JSON
      </button>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}

async function allTurns(asked: TurnsQuery): Promise<readonly TurnRowEnvelope[]> {
  // One end for all pages: a turn that ends meanwhile must not shift them.
  const until = new Date().toISOString();
  const turns: TurnRowEnvelope[] = [];
  for (;;) {
    const query = { ...asked, until, totals: "0", offset: String(turns.length), limit: String(atOnce) };
    const { data } = await api.turnPage(query, new AbortController().signal);
    turns.push(...data);
    if (data.length < atOnce) return turns;
  }
}

function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
