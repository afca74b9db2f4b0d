import { isIP, Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Fence } from "kube-controller-runtime";
import { DatabaseProblem, TLS_REFUSED } from "./failure.ts";
import type { Encryption } from "./tls.ts";
import { MessageReader, tooLong } from "./wire.ts";
import { malformed } from "./wire-body.ts";

/** The message that requests TLS, and the only response that accepts it. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const TLS_GRANTED = "S";

/** More than any expected response. The driver buffers data until a message is complete. */
const MAX_BYTES = 4 * 1024 * 1024;
const COUNT_EVERY_MS = 20;

export interface ConnectionOptions {
  readonly encryption: Encryption;
  /** Whether TLS starts immediately, without a request. */
  readonly directTls: boolean;
  readonly fence: Fence;
}

/**
 * The stream from the driver to its server, encrypted if requested. The connection is closed when the fence
 * closes, and nothing is sent afterwards, not even a greeting. Under TLS, a running handshake may complete,
 * which has no effect. The driver receives only complete and well-formed messages, and the connection is
 * closed at the first other message. The driver trusts its server: a few bytes could crash this process or
 * keep it busy forever.
 */
export class DatabaseConnection extends Duplex {
  readonly #options: ConnectionOptions;
  readonly #socket = new Socket();
  readonly #messages = new MessageReader(MAX_BYTES);
  /** Stream for messages: the socket, or its TLS stream. */
  #wire: Duplex = this.#socket;

  constructor(options: ConnectionOptions) {
    super();
    this.#options = options;
    const { signal } = options.fence;
    const cut = () => void this.destroy();
    signal.addEventListener("abort", cut);
    // Counted below TLS, because not all data ends up in messages.
    const counting = setInterval(() => {
      if (this.#socket.bytesRead > MAX_BYTES) this.destroy(tooLong(MAX_BYTES));
    }, COUNT_EVERY_MS);
    this.once("close", () => {
      signal.removeEventListener("abort", cut);
      clearInterval(counting);
    });
  }

  /** Called by the driver. Emits `connect` when messages can be exchanged. */
  connect(port: number, host: string): void {
    const { encryption, directTls } = this.#options;
    const ready = () => this.emit("connect");
    const encrypt = () => this.#encrypt(host, ready);
    this.#socket.setNoDelay(true).connect(port, host, () => {
      if (!encryption) this.#open(this.#socket, ready);
      else if (directTls) encrypt();
      else this.#requestTls(encrypt);
    });
    this.#follow(this.#socket);
  }

  /** Required by the driver. The socket sets it from the start. */
  setNoDelay(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    try {
      this.#options.fence.assertLeading();
    } catch (error) {
      done(error as Error);
      return;
    }
    this.#wire.write(chunk, done);
  }

  /** The driver corks the messages of a query: sent one by one, each would be a packet and a TLS record. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "binary", done);
  }

  override _final(done: () => void): void {
    this.#wire.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** Closes the connection when one of its streams ends. */
  #follow(part: Duplex): void {
    part.on("error", (error) => this.destroy(error)).on("close", () => this.destroy());
  }

  #requestTls(granted: () => void): void {
    this.#socket.once("data", (answer) => {
      if (answer.toString("latin1") === TLS_GRANTED) granted();
      else this.destroy(Object.assign(new Error("the server refuses TLS"), { code: TLS_REFUSED }));
    });
    this._write(TLS_REQUEST, "binary", (error) => error && this.destroy(error));
  }

  /**
   * Sets the server name, because several servers may share an address. An IP address is not a valid server
   * name.
   */
  #encrypt(host: string, ready: () => void): void {
    const { encryption, directTls } = this.#options;
    const encrypted = connectTls({
      ...encryption,
      socket: this.#socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(directTls ? { ALPNProtocols: ["postgresql"] } : {}),
    });
    this.#follow(encrypted);
    encrypted.once("secureConnect", () => this.#open(encrypted, ready));
  }

  #open(wire: Duplex, ready: () => void): void {
    this.#wire = wire;
    wire.on("data", (chunk: Buffer) => this.#pass(chunk));
    ready();
  }

  /** Passes messages to the driver one by one. If the driver throws, only this connection ends. */
  #pass(chunk: Buffer): void {
    try {
      for (const message of this.#messages.read(chunk)) this.emit("data", message);
    } catch (error) {
      this.destroy(error instanceof DatabaseProblem ? error : malformed());
    }
  }
}
