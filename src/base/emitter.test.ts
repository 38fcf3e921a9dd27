import { describe, expect, expectTypeOf, test } from "vitest";
import { Emitter, type EventSink, type EventSource } from "./emitter.ts";

interface Weather {
  readonly rain: { readonly mm: number };
  readonly sun: { readonly hours: number };
}

describe("an emitter", () => {
  test("hands an event to the listeners of its name, in order, until they leave", () => {
    const weather = new Emitter<Weather>();
    const heard: string[] = [];
    const leave = weather.on("rain", ({ mm }) => heard.push(`first ${mm}`));
    weather.on("rain", ({ mm }) => heard.push(`second ${mm}`));
    weather.on("sun", ({ hours }) => heard.push(`sun ${hours}`));
    weather.emit("rain", { mm: 1 });
    leave();
    leave();
    weather.emit("rain", { mm: 2 });
    expect(heard).toEqual(["first 1", "second 1", "second 2"]);
  });

  test("calls a listener once for each time that it subscribed", () => {
    const weather = new Emitter<Weather>();
    let heard = 0;
    const listener = () => void heard++;
    const leave = weather.on("sun", listener);
    weather.on("sun", listener);
    weather.emit("sun", { hours: 3 });
    leave();
    weather.emit("sun", { hours: 3 });
    expect(heard).toBe(3);
  });

  test("of more events serves a part that knows a few of them, and no others", () => {
    const all = new Emitter<Weather>();
    expectTypeOf(all).toExtend<EventSource<Pick<Weather, "sun">>>();
    expectTypeOf(all).toExtend<EventSink<Pick<Weather, "sun">>>();
    expectTypeOf<EventSource<Pick<Weather, "sun">>>().not.toExtend<EventSource<Weather>>();
  });
});
