import { type EventId, startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnEvent, TurnEventBody } from "./event.ts";
import { eachOf, readTurn } from "./read-turn.ts";
import type { LogStore, LogWriter, NewTurn } from "./store.ts";
import { newTurn, SettableClock } from "./turn.fake.ts";

export const text = (delta: string): TurnEventBody => ({ type: "text", delta });
export const finished: TurnEventBody = {
  type: "finished",
  reason: { unified: "stop", raw: undefined },
  text: "",
};
export const never = new AbortController().signal;

/** Events as they were given to the writer. */
export function bodiesOf(events: readonly TurnEvent[]): unknown[] {
  return events.map((event) =>
    Object.fromEntries(Object.entries(event).filter(([key]) => key !== "eventId" && key !== "atMs")),
  );
}

/** A medium that a test opens, perhaps several times. A second `open` does the same as another process, or the next start. */
export interface StoreHarness {
  open(clock: SettableClock): Promise<LogStore>;
  dispose(): Promise<void>;
}

/** The running test's store, its clock, and the steps that most tests share. */
export class StoreWorld {
  readonly #makeHarness: () => Promise<StoreHarness>;
  #opened: { readonly harness: StoreHarness; readonly clock: SettableClock; store: LogStore } | undefined;

  constructor(makeHarness: () => Promise<StoreHarness>) {
    this.#makeHarness = makeHarness;
  }

  get #now() {
    if (this.#opened === undefined) throw new Error("no test runs");
    return this.#opened;
  }

  get store(): LogStore {
    return this.#now.store;
  }

  get clock(): SettableClock {
    return this.#now.clock;
  }

  async open(): Promise<void> {
    const harness = await this.#makeHarness();
    const clock = new SettableClock();
    this.#opened = { harness, clock, store: await harness.open(clock) };
  }

  /** As the next start of the process does. */
  async reopen(): Promise<void> {
    await this.store.close();
    this.#now.store = await this.openAnother();
  }

  /** The same medium once more, as another process has it. */
  openAnother(): Promise<LogStore> {
    return this.#now.harness.open(this.clock);
  }

  async dispose(): Promise<void> {
    await this.store.close();
    await this.#now.harness.dispose();
  }

  readonly begin = async (
    overrides: Partial<NewTurn> = {},
  ): Promise<{ readonly turnId: TurnId; readonly writer: LogWriter }> => {
    const { record, writer } = await this.store.create(newTurn(overrides), "owner-1");
    if (writer === undefined) throw new Error("the turn was there already");
    return { turnId: record.turnId, writer };
  };

  readonly collect = async (turnId: TurnId, after: EventId = startOfLog): Promise<TurnEvent[]> => {
    const events: TurnEvent[] = [];
    for await (const event of eachOf(readTurn(this.store, { turnId, after }, never))) events.push(event);
    return events;
  };
}
