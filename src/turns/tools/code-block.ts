/** Where the marks of a quotation and of a list end, and a fence's marker. */
const fence = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]+)*(`{3,}|~{3,})/;
/** So much of a line says whether it is a fence. */
const headLength = 200;

/** Follows the text of an answer, and knows whether the place where it ends is code: in a fence, indented, or between backticks. */
export class CodeBlock {
  #fence: string | undefined;
  /** The beginning of the line. */
  #head = "";
  #backtickRuns = 0;
  #endsInBacktick = false;

  get isCode(): boolean {
    return this.#fence !== undefined || this.#backtickRuns % 2 === 1 || /^(?: {4,}|[^\S\n]*\t\s*)$/.test(this.#head);
  }

  follow(text: string): void {
    const [first = "", ...lines] = text.split("\n");
    this.#goOn(first);
    for (const line of lines) {
      this.#endLine();
      this.#goOn(line);
    }
  }

  /** A call ended here. */
  beginLine(): void {
    this.#head = "";
    this.#backtickRuns = 0;
    this.#endsInBacktick = false;
  }

  #goOn(text: string): void {
    if (text === "") return;
    const runs = text.match(/`+/g)?.length ?? 0;
    this.#backtickRuns += runs - (this.#endsInBacktick && text.startsWith("`") ? 1 : 0);
    this.#endsInBacktick = text.endsWith("`");
    this.#head += text.slice(0, headLength + 1 - this.#head.length);
  }

  #endLine(): void {
    const [marked = "", marker = ""] = fence.exec(this.#head) ?? [];
    if (this.#fence === undefined) {
      if (marker.startsWith("~") || (marker !== "" && this.#backtickRuns === 1)) this.#fence = marker;
    } else if (marker.startsWith(this.#fence) && this.#head.slice(marked.length).trim() === "") this.#fence = undefined;
    this.beginLine();
  }
}
