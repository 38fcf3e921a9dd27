/** A source of events for other parts of the gateway: `Events` has the payload of each event by its name. */
export interface EventSource<Events extends object> {
  /** Calls the listener at each event of this name from now on. The returned function ends that. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void;
}

/** The details of an event that has none. */
export type NoDetails = Readonly<Record<string, never>>;

/** Takes the events that a part of the gateway reports. */
export interface EventSink<Events extends object> {
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void;
}

/** Hands each event to its listeners at once, in the order in which they came. An error of a listener reaches who emitted. */
export class Emitter<Events extends object> implements EventSource<Events>, EventSink<Events> {
  readonly #listeners = new Map<PropertyKey, Set<(event: never) => void>>();

  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const own = (event: Events[Name]) => listener(event); // the same listener may subscribe twice
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(own));
    return () => listeners.delete(own);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(event as never); // `on` keeps each under its own name
  }
}
