import * as fc from "fast-check";
import { accumulateResponse } from "openai/lib/responses/ResponseAccumulator";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import type { TurnEvent, TurnEventBody } from "../../log/event.ts";
import { asLog, recordedContext, recordedRequest, wholeAnswerOf } from "../recorded.fake.ts";
import type { WireEvent } from "./dialect.ts";
import { legalLog } from "./legal-logs.fake.ts";
import { openAiResponses } from "./openai-responses/encode.ts";
import { fold, type Json, parsed, responses, responsesWire, type Surface, surfaces } from "./surfaces.fake.ts";

function stream(surface: Surface, log: readonly TurnEvent[]): WireEvent[] {
  const encoder = surface.dialect.encoder(recordedContext({ wire: surface.wire }));
  return [...encoder.open(), ...log.flatMap((event) => encoder.encode(event))];
}

function endOf(log: readonly TurnEventBody[]) {
  return log.at(-1)?.type;
}

describe.each(surfaces)("%s", (_name, surface) => {
  it("makes a legal stream of any legal log", () => {
    proves(
      "chat.role-once",
      "chat.same-head",
      "chat.one-finish",
      "chat.call-index",
      "chat.call-identity",
      "chat.parallel-calls",
      "messages.order",
      "messages.blocks",
      "responses.terminal",
      "responses.ladder",
      "responses.output-index",
      "responses.call-ids",
      "responses.done",
    );
    fc.assert(
      fc.property(legalLog, (log) => {
        expect(surface.problems(stream(surface, asLog(log)))).toEqual([]);
      }),
    );
  });

  it("lets a client accumulate what it would get without streaming, for any legal log", () => {
    proves("chat.whole-equals-stream", "chat.tool-finish");
    fc.assert(
      fc.property(legalLog, (log) => {
        const got = surface.accumulated(stream(surface, asLog(log)));
        expect(got.failed).toBe(endOf(log) !== "finished");
        if (got.failed) return;
        const body = surface.dialect.encodeAnswer(recordedContext({ wire: surface.wire }), wholeAnswerOf(asLog(log)));
        expect(got).toEqual(surface.whole(body as Json));
      }),
    );
  });

  it("stays legal with heartbeats anywhere, which change nothing", () => {
    fc.assert(
      fc.property(legalLog, fc.nat(), (log, seed) => {
        const encoder = surface.dialect.encoder(recordedContext({ wire: surface.wire }));
        const events = [...encoder.open()];
        for (const [i, event] of asLog(log).entries()) {
          // A response's heartbeat repeats the last number: legal for clients, but not in this grammar.
          if (surface !== responses && (seed >> (i % 16)) & 1) events.push(...encoder.heartbeat());
          events.push(...encoder.encode(event));
        }
        expect(surface.problems(events)).toEqual([]);
        expect(surface.accumulated(events)).toEqual(surface.accumulated(stream(surface, asLog(log))));
      }),
    );
  });

  it("ends in an error, never as complete, wherever the log breaks", () => {
    proves("chat.stream-error", "messages.stream-error");
    fc.assert(
      fc.property(legalLog, fc.nat(), (log, cut) => {
        const events = asLog(log).slice(0, cut % log.length);
        const encoder = surface.dialect.encoder(recordedContext({ wire: surface.wire }));
        const wire = [...encoder.open(), ...events.flatMap((event) => encoder.encode(event))];
        wire.push(...encoder.broken({ code: "upstream_failed", message: "It broke.", hint: "Try again." }));
        expect(surface.accumulated(wire).failed).toBe(true);
      }),
    );
  });
});

describe("openai-responses in silence", () => {
  it("gives the SDK's accumulator the same response with a heartbeat after any event", () => {
    fc.assert(
      fc.property(legalLog, fc.nat(), (bodies, at) => {
        const log = asLog(bodies);
        const beaten = at % log.length;
        const encoder = openAiResponses.encoder(recordedContext({ wire: responsesWire }));
        const events = [...encoder.open()];
        for (const [i, event] of log.entries()) {
          events.push(...encoder.encode(event));
          if (i === beaten && i < log.length - 1) events.push(...encoder.heartbeat());
        }
        let response: Response | undefined;
        for (const event of parsed(events)) response = accumulateResponse(event as ResponseStreamEvent, response);
        expect(response).toMatchObject(fold(parsed(stream(responses, log))) ?? {});
      }),
    );
  });
});

describe("the recorded request", () => {
  it("offers every tool that the logs call", () => {
    expect(recordedRequest.tools.map((tool) => tool.name)).toEqual(["weather", "now", "apply_patch"]);
  });
});
