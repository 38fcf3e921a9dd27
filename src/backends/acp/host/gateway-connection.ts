import type { Socket } from "node:net";
import { writeJson } from "../../../base/json.ts";
import type { LineLog } from "./line-log.ts";
import type { News, Welcome } from "./wire.ts";

/** So many characters of lines are one write to a gateway. */
const writtenAtOnce = 64 * 1024;

/** The gateway that is connected: it gets each line once, at its own pace. */
export class GatewayConnection {
  readonly socket: Socket;
  readonly #log: LineLog;
  readonly #onRead: () => void;
  #sent: number;
  #isFull = false;
  #news: News[] = [];

  constructor(socket: Socket, welcome: Welcome, log: LineLog, onRead: () => void) {
    this.socket = socket;
    this.#log = log;
    this.#onRead = onRead;
    this.#sent = welcome.first;
    this.#write(`${writeJson(welcome)}\n`);
    this.pump();
  }

  get hasAll(): boolean {
    return this.#sent === this.#log.next;
  }

  pump(): void {
    while (!this.#isFull && !this.hasAll) {
      let text = "";
      while (!this.hasAll && text.length < writtenAtOnce) text += `<${this.#log.read(this.#sent++)}\n`;
      this.#write(text);
    }
    if (!this.hasAll) return;
    for (const news of this.#news.splice(0)) this.#write(`${writeJson(news)}\n`);
  }

  /** News are told after the lines before them. */
  tell(news: News): void {
    if (!("half" in news && this.#news.some((each) => "half" in each))) this.#news.push(news);
    this.pump();
  }

  #write(text: string): void {
    if (this.socket.write(text) || this.#isFull) return;
    this.#isFull = true;
    this.socket.once("drain", () => {
      this.#isFull = false;
      this.pump();
      this.#onRead();
    });
  }
}
