import type { AgentChild } from "./agent-child.ts";
import { JsonLines } from "./json-lines.ts";
import { type PeerHandlers, ProcessGone, RpcPeer } from "./rpc-peer.ts";

/** The peer that speaks over a child's pipes. It closes with the process, and a process whose output cannot be read is ended. */
export function connectPeer(child: AgentChild, handlers: PeerHandlers): RpcPeer {
  const peer = new RpcPeer((line) => child.write(line), handlers);
  const lines = new JsonLines(() => {}); // banners and warnings
  child.onText((text) => {
    try {
      for (const message of lines.feed(text)) peer.receive(message);
    } catch {
      peer.close(new ProcessGone("its output could not be read"));
      void child.end(0);
    }
  });
  void child.exited.then((how) => peer.close(new ProcessGone(how)));
  return peer;
}
