/** The line of an answer up to the place where it is read. */
export class Line {
  /** Between backticks. */
  inCode = false;
  #indent = "";
  /** The first sign that is no white space. */
  #first = "";
  #end = "";

  /** Only white space came so far. */
  get isBlank(): boolean {
    return this.#first === "";
  }

  /** A quotation, or indented as code: no call begins in it. */
  get isClosed(): boolean {
    return this.#first === ">" || /^ {4}|\t/.test(this.#indent);
  }

  get isAfterSentence(): boolean {
    return /[.!?…"”)\]]\s+$/.test(this.#end);
  }

  begin(): void {
    this.inCode = false;
    this.#indent = "";
    this.#first = "";
    this.#end = "";
  }

  follow(text: string): void {
    const newline = text.lastIndexOf("\n");
    if (newline !== -1) this.begin();
    const rest = text.slice(newline + 1);
    if (this.isBlank) {
      const [, indent = "", first = ""] = /^(\s*)(\S?)/.exec(rest) ?? [];
      this.#indent = (this.#indent + indent).slice(0, 8);
      this.#first = first;
    }
    const runs = rest.match(/`+/g)?.length ?? 0;
    if (runs % 2 === 1) this.inCode = !this.inCode;
    this.#end = (this.#end + rest).slice(-8);
  }
}
