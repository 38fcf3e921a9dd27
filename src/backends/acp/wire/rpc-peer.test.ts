import { expect, test } from "vitest";
import { ProcessLoss, RpcPeer } from "./rpc-peer.ts";

function peer(firstId?: number) {
  const written: { readonly id?: number; readonly method?: string }[] = [];
  const handlers = { onRequest: () => undefined, onNotification: () => {} };
  const made = new RpcPeer((line) => written.push(JSON.parse(line) as object), handlers, firstId);
  return { made, written };
}

test("each request is answered once: by its reply, or by the end of the pipe", () => {
  const { made, written } = peer();
  const heard: string[] = [];
  for (const name of ["a", "b"])
    made.ask(name, {}, (reply) => heard.push(`${name} ${"error" in reply ? reply.error.message : "answered"}`));
  const reply = { jsonrpc: "2.0", id: 1, result: {} };
  made.receive(reply);
  made.receive(reply);
  expect(heard).toEqual(["a answered"]);
  made.close(new ProcessLoss("exit code 1"));
  made.close(new ProcessLoss("twice"));
  made.receive({ jsonrpc: "2.0", id: 2, result: {} });
  made.ask("c", {}, (answer) => heard.push(`c ${"error" in answer ? answer.error.message : ""}`));
  made.notify("d", {});
  expect(heard).toEqual(["a answered", "b exit code 1", "c exit code 1"]);
  expect(written.map(({ method }) => method)).toEqual(["a", "b"]);
});

test("ids go on where those of the gateway before end, and a request of an unknown method is refused", () => {
  const { made, written } = peer(1_000_001);
  made.ask("a", {}, () => {});
  made.receive({ jsonrpc: "2.0", id: 7, method: "fs/read_text_file", params: {} });
  expect(written).toMatchObject([{ id: 1_000_001 }, { id: 7, error: { code: -32_601 } }]);
});
