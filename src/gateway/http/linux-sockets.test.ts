import { describe, expect, it } from "vitest";
import { verdictOf } from "./linux-sockets.ts";

const established = { state: 1, sending: 0, unread: 0 };
const timeWait = { state: 6, sending: 0, unread: 0 };

describe("what the kernel's table says of an answer", () => {
  it("is that it was read where nothing waits at either end", () => {
    expect(verdictOf(established, established)).toBe("read");
  });

  it("is that it was not read where bytes wait, at the client or on the way", () => {
    expect(verdictOf({ ...established, unread: 1 }, established)).toBe("unread");
    expect(verdictOf(established, { ...established, sending: 1 })).toBe("unread");
  });

  it("does not count the end of a connection that the gateway closed as a byte", () => {
    const finWait = { ...established, state: 5 };
    expect(verdictOf({ state: 8, sending: 0, unread: 1 }, finWait)).toBe("read");
    expect(verdictOf({ state: 8, sending: 0, unread: 2 }, finWait)).toBe("unread");
  });

  it("distinguishes a client that closed properly, or is on another machine, from one that was reset", () => {
    expect(verdictOf(undefined, timeWait)).toBe("read");
    expect(verdictOf(undefined, established)).toBe("read");
    expect(verdictOf(undefined, undefined)).toBe("unread");
  });
});
