import { describe, expect, it } from "vitest";
import { otlpReceiver } from "./otlp-receiver.ts";

const url = "http://127.0.0.1:4318";

function headersOf(wanted: string, env: Readonly<Record<string, string>>) {
  return otlpReceiver(wanted, env)?.headers.map(([name, value]) => [name, value.reveal()]);
}

describe("the receiver of spans", () => {
  it("is none without an address, also where OpenTelemetry's variables name one", () => {
    expect(otlpReceiver(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: url })).toBeUndefined();
    expect(otlpReceiver("env", {})).toBeUndefined();
    expect(otlpReceiver("env", { OTEL_EXPORTER_OTLP_ENDPOINT: url })?.endpoint).toBe(url);
  });

  it("gets the headers that are set for it", () => {
    const ours = { MILLRACE_OTLP_HEADERS: "Authorization=Bearer%20a%2Cb, x-team = core ," };
    expect(headersOf(url, ours)).toEqual([
      ["authorization", "Bearer a,b"],
      ["x-team", "core"],
    ]);
    const theirs = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: "api-key=theirs" };
    expect(headersOf("env", theirs)).toEqual([["api-key", "theirs"]]);
    expect(headersOf("env", { ...theirs, MILLRACE_OTLP_HEADERS: "api-key=ours" })).toEqual([["api-key", "ours"]]);
    expect(headersOf(url, theirs)).toEqual([]); // they are for another receiver
  });

  it.each([
    "secret",
    "=secret",
    "a b=secret",
    "x=secret%0d%0ay: z",
    "x=secret%zz",
    "content-type=secret",
    "host=secret",
  ])("refuses the header %s without showing it", (pair) => {
    const read = () => otlpReceiver(url, { MILLRACE_OTLP_HEADERS: `x-team=core,${pair}` });
    expect(read).toThrow("Pair 2 of MILLRACE_OTLP_HEADERS is not a header that can be sent.");
    expect(read).not.toThrow("secret");
  });

  it("refuses an address that holds a password, without showing it", () => {
    const read = () => otlpReceiver("https://ada:secret@receiver.example", {});
    expect(read).toThrow("must hold no user name and no password");
    expect(read).not.toThrow("secret");
    expect(() => otlpReceiver("receiver:4318", {})).toThrow("is not an http address");
  });

  it("shows no header where it is logged", () => {
    const receiver = otlpReceiver(url, { MILLRACE_OTLP_HEADERS: "authorization=secret" });
    expect(JSON.stringify(receiver)).not.toContain("secret");
  });
});
