import type { Schedule } from "./schedule.fake.ts";
import type { LogStore, LogWriter } from "./store.ts";

/** One action on a store. Actions are kept in their order. */
export interface DoneStep {
  readonly actor: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly result: unknown;
}

export interface HeldOptions {
  readonly store: LogStore;
  readonly schedule: Schedule;
  /** `before`: a call is carried out when its step is picked. `after`: at once, and its answer comes when it is picked. */
  readonly hold: "before" | "after";
  /** Calls that are not held. */
  readonly passing?: readonly string[];
  readonly onDone: (done: DoneStep) => void;
}

/** Methods that answer at once. */
const atOnce = ["now", "isEarlier", "isUnclear"];

/** Whether these are the options of a read that waits for news. */
function isWait(argument: unknown): boolean {
  return typeof argument === "object" && argument !== null && "wait" in argument && argument.wait !== undefined;
}

/** A store each of whose calls is a step of a schedule, those of its writers too. A wait in it is one when it is over. */
export function heldStore({ store, schedule, hold, passing = [], onDone }: HeldOptions): LogStore {
  const held =
    (method: string, call: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]): Promise<unknown> => {
      const actor = method.startsWith("append") ? "turn" : schedule.actor;
      const waits = method.startsWith("until") || args.some(isWait);
      if (passing.includes(method)) return waits ? call(...args) : schedule.during(call(...args));
      if (waits) {
        const result = await call(...args);
        await schedule.step(`hears ${method}`, method, actor);
        return result;
      }
      if (hold === "before") await schedule.step(method, "store", actor);
      const work = schedule.during(call(...args)).then(
        (result) => {
          onDone({ actor, method, args, result });
          return withHeldWriter(result);
        },
        (error: unknown) => {
          onDone({ actor, method, args, result: error });
          throw error;
        },
      );
      if (hold === "before") return work;
      await Promise.allSettled([work]);
      await schedule.step(`hears of its ${method}`, "store", actor);
      return work;
    };

  /** The answer of a writer, with that writer held as well. */
  const withHeldWriter = (result: unknown): unknown => {
    if (typeof result !== "object" || result === null) return result;
    if ("writer" in result && result.writer !== undefined)
      return { ...result, writer: heldWriter(result.writer as LogWriter) };
    if ("turn" in result && result.turn !== undefined) return { ...result, turn: withHeldWriter(result.turn) };
    return result;
  };

  const heldWriter = (writer: LogWriter): LogWriter => ({
    turnId: writer.turnId,
    epoch: writer.epoch,
    append: held("append", (...args) =>
      writer.append(...(args as Parameters<LogWriter["append"]>)),
    ) as LogWriter["append"], // the same arguments and answers
  });

  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || typeof name !== "string") return value;
      if (atOnce.includes(name)) return value.bind(target) as unknown;
      return held(name, (...args) => Reflect.apply(value, target, args) as Promise<unknown>); // every other method of a store answers one
    },
  });
}
