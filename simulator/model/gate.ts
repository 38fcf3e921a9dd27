/** Where answers hold until a release. One release frees everything that came before it. */
export class Gate {
  #current = Promise.withResolvers<void>();

  /** Resolves at the next release, whenever it is waited for. */
  get opens(): Promise<void> {
    return this.#current.promise;
  }

  release(): void {
    this.#current.resolve();
    this.#current = Promise.withResolvers();
  }
}
