import {
  autoResume,
  isMillraceError,
  type ObservedEvent,
  observe,
  openIndexedDbRecordStore,
  type ReliableStream,
  type StreamEvent,
  startReliableStream,
  webLink,
} from "../../src/client/index.ts";

/** The application of the client's test in a browser: it keeps its events beside the library's record, over reloads. */
interface KeptPage {
  readonly localStorage: { getItem(name: string): string | null; setItem(name: string, value: string): void };
  /** `reachMs`: how long a gateway may take to answer for the first time. */
  ask(url: string, key: string, model: string, text: string, reachMs?: number): Promise<void>;
  goOn(url: string, key: string): Promise<{ readonly streams: number; readonly taken: number }>;
  kept(): StreamEvent[];
  /** Looks on at the only stream of this origin, whichever tab has it. */
  lookOn(url: string, key: string): Promise<void>;
  seen: ObservedEvent[];
  failure: string | undefined;
}

const page = globalThis as unknown as KeptPage; // the page's own window
const signal = new AbortController().signal;

page.kept = () => JSON.parse(page.localStorage.getItem("events") ?? "[]") as StreamEvent[]; // written below

page.ask = async (url, key, model, text, reachMs = 30_000) => {
  const request = { model, messages: [{ role: "user" as const, text }] };
  read(await startReliableStream(request, { ...(await options(url, key)), patience: { reachMs } }, signal));
};

page.goOn = async (url, key) => {
  const after = page.kept().at(-1)?.eventId ?? "0";
  const { streams, taken } = await autoResume({ ...(await options(url, key)), after }, signal);
  for (const stream of streams) read(stream);
  return { streams: streams.length, taken: taken.length };
};

page.seen = [];
page.lookOn = async (url, key) => {
  const settings = await options(url, key);
  const [streamKey = ""] = await settings.store.list();
  void (async () => {
    for await (const event of observe(streamKey, settings, signal)) page.seen.push(event);
  })().catch((error: unknown) => {
    page.failure = String(error);
  });
};

async function options(url: string, key: string) {
  return { gateway: webLink({ url, key }), store: await openIndexedDbRecordStore() };
}

function read(stream: ReliableStream): void {
  void (async () => {
    for await (const event of stream.events)
      page.localStorage.setItem("events", JSON.stringify([...page.kept(), event]));
  })().catch((error: unknown) => {
    page.failure = `${String(error)} ${isMillraceError(error) ? error.hint : ""}`;
  });
}
