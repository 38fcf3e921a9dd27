import { Bell } from "../../../base/bell.ts";
import { startOfLog } from "../../../base/ids.ts";
import type { StreamUnifiedChatResponseWithTools as ServerChunk } from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment } from "../../../turns/attach/attachment.ts";
import type { StreamEncoder } from "../../dialects/idempotent/encode.ts";
import { waitsForResults } from "./read-answer.ts";
import { streamEncoder } from "./stream-encoder.ts";
import type { StreamProgress } from "./stream-progress.ts";

export interface LiveChunksOptions {
  readonly reading: Pick<Attachment, "read">;
  readonly state: StreamProgress;
  /** Has `bell` rung whenever the state may have changed. */
  readonly tell: (bell: Bell) => void;
  readonly cursor: string;
  readonly encoder?: StreamEncoder;
}

/**
 * Every chunk of a stream after the cursor, live ones too, up to its end, at the reader's pace. Between two turns it waits for the
 * client's messages. A reader that asks for more after a turn's last chunk confirms that the chunk was delivered.
 *
 * Throws as reading a turn does, and the signal's reason.
 */
export async function* liveChunks(options: LiveChunksOptions, signal: AbortSignal): AsyncGenerator<ServerChunk, void> {
  const { reading, state, tell, cursor, encoder = streamEncoder(state) } = options;
  const bell = new Bell();
  tell(bell);
  for (let index = 0; ; index++) {
    let turnId = state.turns[index];
    for (; turnId === undefined; turnId = state.turns[index]) {
      const waits = index === 0 || waitsForResults(encoder.turnEnd);
      const how = waits ? state.endAfter(encoder.blocks) : undefined;
      if (how !== undefined) {
        const chunk = encoder.end(how);
        if (chunk.eventId > cursor) yield chunk;
        return;
      }
      await bell.wait(signal);
    }
    encoder.begin();
    for await (const event of reading.read(turnId, startOfLog, signal)) {
      for (const chunk of encoder.push(event)) if (chunk.eventId > cursor) yield chunk;
    }
    if (encoder.ended !== undefined) return;
  }
}
