/** A response body that is written while it is read. Like a socket, it drops unread data when it fails. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  #chunks: Uint8Array[] = [];
  #ended: { readonly error?: unknown } | undefined;
  #wake: () => void = () => {};

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  write(text: string): void {
    if (this.#ended) return;
    this.#chunks.push(Buffer.from(text, "utf8"));
    this.#wake();
  }

  /** Ends the body normally: the reader gets everything that was written, then the end. */
  end(): void {
    this.#ended ??= {};
    this.#wake();
  }

  /** Breaks the body off. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#chunks = [];
    this.#ended = { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) yield chunk;
      else if (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if ("error" in this.#ended) throw this.#ended.error;
      else return;
    }
  }
}
