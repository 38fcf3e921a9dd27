import type { AgentChild } from "./agent-child.ts";
import { JsonLines } from "./json-lines.ts";
import { type PeerHandlers, ProcessLoss, RpcPeer } from "./rpc-peer.ts";

/** A peer that speaks over a child's pipes. It closes with the process, and a process whose output cannot be read is ended. */
export class PipePeer extends RpcPeer {
  readonly #lines = new JsonLines(() => {}); // banners and warnings

  constructor(child: AgentChild, handlers: PeerHandlers) {
    super((line) => child.write(line), handlers, child.host?.firstId);
    child.onText((text) => {
      try {
        for (const message of this.#lines.feed(text)) this.receive(message);
      } catch {
        this.close(new ProcessLoss("its output could not be read"));
        void child.end(0);
      }
    });
    void child.exited.then((how) => this.close(new ProcessLoss(how)));
  }

  /** Whether the child has written a part of a line. */
  get hasHalfLine(): boolean {
    return this.#lines.hasHalf;
  }
}
