import { isIP, Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Fence } from "kube-controller-runtime";
import { DatabaseProblem, TLS_REFUSED } from "./failure.ts";
import type { Encryption } from "./tls.ts";
import { MessageReader, tooLong } from "./wire.ts";
import { malformed } from "./wire-body.ts";

/** The message by which a client asks for TLS, and the only answer that grants it. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const TLS_GRANTED = "S";

/** More than any answer that is asked for: the driver keeps what comes until a message is complete. */
const MAX_BYTES = 4 * 1024 * 1024;
const COUNT_EVERY_MS = 20;

export interface ConnectionOptions {
  readonly encryption: Encryption;
  /** Whether TLS begins with the first byte, without asking. */
  readonly directTls: boolean;
  readonly fence: Fence;
}

/**
 * The driver's stream to its server, encrypted where that is asked for. Nothing is sent past the fence, a greeting
 * included, and the connection is cut as soon as the fence is closed. Under TLS a handshake that has begun may end, which
 * changes nothing. The driver sees whole and well-formed messages only, and the connection is cut at the first other
 * one: the driver trusts its server so far that a few bytes could end this process or keep it busy for ever.
 */
export class DatabaseConnection extends Duplex {
  readonly #options: ConnectionOptions;
  readonly #socket = new Socket();
  readonly #messages = new MessageReader(MAX_BYTES);
  /** What messages are written to: the socket, or what encrypts it. */
  #wire: Duplex = this.#socket;

  constructor(options: ConnectionOptions) {
    super();
    this.#options = options;
    const { signal } = options.fence;
    const cut = () => void this.destroy();
    signal.addEventListener("abort", cut);
    // Counted below TLS, since not all that comes there ends in messages.
    const counting = setInterval(() => {
      if (this.#socket.bytesRead > MAX_BYTES) this.destroy(tooLong(MAX_BYTES));
    }, COUNT_EVERY_MS);
    this.once("close", () => {
      signal.removeEventListener("abort", cut);
      clearInterval(counting);
    });
  }

  /** As the driver asks for it; `connect` is emitted when messages can be exchanged. */
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

  /** The driver wants it of every stream; it holds from the beginning. */
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

  override _final(done: () => void): void {
    this.#wire.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** The end of the connection is that of its parts. */
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

  /** A server is asked for by name, as several may be behind one address, and an address is no name. */
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

  /** Hands messages to the driver one by one: what it throws at one ends this connection and nothing else. */
  #pass(chunk: Buffer): void {
    try {
      for (const message of this.#messages.read(chunk)) this.emit("data", message);
    } catch (error) {
      this.destroy(error instanceof DatabaseProblem ? error : malformed());
    }
  }
}
