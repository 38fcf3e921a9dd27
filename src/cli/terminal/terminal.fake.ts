import { Writable } from "node:stream";

/** Controls and line ends apart from text. */
const pieces = new RegExp(String.raw`(\u001B\[[?\d;]*[A-Za-z]|\r\n|\n)|([^\u001B\r\n]+)`, "g");

/** A terminal that does what a screen needs: its other screen, the corner, erasing, and lines that break at its edge. */
class FakeTerminal extends Writable {
  readonly isTTY = true;
  columns: number;
  rows: number;
  #screen: string[] = [];
  #row = 0;
  #first = "";
  #isOther = false;

  constructor(columns: number, rows: number) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.rows = rows;
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    for (const [, control, plain] of text.matchAll(pieces)) {
      if (plain !== undefined) this.#put(plain);
      else this.#obey(control ?? "");
    }
    done();
  }

  /** The text of the screen that is shown. */
  lines(): readonly string[] {
    return this.#screen.map((line) => line.trimEnd());
  }

  /** The text of the first screen. */
  left(): string {
    return this.#first;
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emit("resize");
  }

  #put(text: string): void {
    if (!this.#isOther) {
      this.#first += text;
      return;
    }
    let rest = (this.#screen[this.#row] ?? "") + text;
    for (; rest.length > this.columns; this.#row++) {
      this.#screen[this.#row] = rest.slice(0, this.columns); // as a terminal breaks what is too long
      rest = rest.slice(this.columns);
    }
    this.#screen[this.#row] = rest;
  }

  #obey(control: string): void {
    if (control === "\u001B[?1049h") this.#isOther = true;
    else if (control === "\u001B[?1049l") this.#isOther = false;
    else if (control === "\u001B[H") this.#row = 0;
    else if (control === "\u001B[2K") this.#screen[this.#row] = "";
    else if (control === "\u001B[J") this.#screen.length = this.#row + 1;
    else if (control.endsWith("\n") && this.#isOther) this.#row++;
    else if (control.endsWith("\n")) this.#first += "\n";
    else if (!control.startsWith("\u001B[?25")) throw new Error(`unknown: ${JSON.stringify(control)}`);
  }
}

export function fakeTerminal(columns: number, rows: number): FakeTerminal {
  return new FakeTerminal(columns, rows);
}
