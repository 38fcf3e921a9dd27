import { type MessageInit, type RawAttach, say } from "../../src/gateway/streams/raw-client.fake.ts";

const model = "claude-sonnet-4.6";

/** How far a stream has come when it is aborted. */
export interface Step {
  readonly name: string;
  /** What the client has sent by then, all of which it sends again on its next connection. */
  readonly sends: (name: string) => readonly MessageInit[];
  /** Brings the stream there. */
  readonly reach: (attach: RawAttach, send: (message: MessageInit) => void) => Promise<void>;
  /** How many prompts it may have cost by then. */
  readonly mostPrompts: number;
  /** Whether it may have come to its own end before the abort is there. */
  readonly mayEnd: boolean;
}

/** An answer that would continue for minutes without an abort. */
export const longAnswer = 20_000;
/** How fast a long answer grows, characters a second. */
export const longRate = 40;
/** What an answer has whose end is waited for. */
export const shortAnswer = 60;

const long = (name: string) =>
  say.request(`[[sim: size=${longAnswer} rate=${longRate}]] ${name} at length`, 0, { model });
const short = (name: string) => say.request(`[[sim: size=${shortAnswer} rate=400]] ${name} in short`, 0, { model });
const looking = (name: string) => say.request(`[[sim: agent=once]] ${name} Look.`, 0, { model, tools: ["bash"] });

const callOf = ({ chunks }: RawAttach) => {
  const call = chunks.find(({ response }) => response.case === "clientSideToolV2Call")?.response;
  return call?.case === "clientSideToolV2Call" ? call.value : undefined;
};
const afterCall = (attach: RawAttach) => callOf(attach) !== undefined;
/** The answer with the call has ended; only its client is waited for. */
const callOpen = async (attach: RawAttach, send: (message: MessageInit) => void) => {
  await attach.until(afterCall);
  send(say.result(callOf(attach)?.toolCallId ?? "", "a.txt b.txt", 1));
};

function during(name: string, reached: (attach: RawAttach) => boolean): Step {
  const reach = async (attach: RawAttach) => void (await attach.until(reached));
  return { name, sends: (stream) => [long(stream)], reach, mostPrompts: 1, mayEnd: false };
}

/** Every step of a stream: of one that answers at length, one that ends by itself, and one with a tool. */
export const steps: readonly Step[] = [
  { name: "before its request", sends: () => [], reach: async () => {}, mostPrompts: 0, mayEnd: false },
  { ...during("before the welcome", () => true), reach: async () => {} },
  during("after the welcome", ({ welcome }) => welcome !== undefined),
  during("after the first acknowledgement", ({ acks }) => acks.includes(0)),
  ...[1, 2, 3, 4, 5].map((count) => during(`after event ${count}`, ({ chunks }) => chunks.length >= count)),
  {
    name: "before the end",
    sends: (stream) => [short(stream)],
    reach: async (attach) => void (await attach.until(({ text }) => text.length >= shortAnswer - 10)),
    mostPrompts: 1,
    mayEnd: true,
  },
  {
    name: "after the end",
    sends: (stream) => [short(stream)],
    reach: async (attach) => void (await attach.until(({ end }) => end !== undefined)),
    mostPrompts: 1,
    mayEnd: true,
  },
  {
    name: "with a call open",
    sends: (stream) => [looking(stream)],
    reach: async (attach) => void (await attach.until(afterCall)),
    mostPrompts: 1,
    mayEnd: false,
  },
  {
    name: "with a result on its way",
    sends: (stream) => [looking(stream)],
    reach: callOpen,
    mostPrompts: 2,
    mayEnd: true,
  },
  {
    name: "after the result",
    sends: (stream) => [looking(stream)],
    reach: async (attach, send) => {
      await callOpen(attach, send);
      await attach.until(({ acks }) => acks.includes(1));
    },
    mostPrompts: 2,
    mayEnd: true,
  },
];
