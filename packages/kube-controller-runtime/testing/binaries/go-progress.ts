import { elapsed } from "./progress.ts";

const ERROR_LINES = 8;
/** The first packages are small, so an earlier estimate would be too low. */
const ENOUGH_TO_GUESS = 30;

/**
 * Parses the output of `go build -v`: one line per downloaded module, one per compiled package; the rest are
 * errors.
 */
export class GoProgress {
  /** The number of packages to compile, if known. */
  total: number | undefined;
  #modules = 0;
  #packages = 0;
  #firstAt: number | undefined;
  readonly #recent: string[] = [];

  add(line: string, now = performance.now()): void {
    if (line.startsWith("go: downloading ")) this.#modules += 1;
    else if (/^[\w./~-]+$/.test(line)) this.#compiled(now);
    else this.#recent.push(line);
  }

  /** The progress, and the estimated remaining time. */
  summary(now: number): string {
    if (this.#packages === 0) return `${this.#modules} modules downloaded`;
    const total = this.total ?? 0;
    if (total < this.#packages) return `${this.#packages} packages compiled`;
    const progress = `${this.#packages} of ${total} packages compiled`;
    if (this.#packages < ENOUGH_TO_GUESS) return progress;
    if (this.#packages === total) return `${progress}, linking`;
    const msEach = (now - (this.#firstAt ?? now)) / this.#packages;
    return `${progress}, about ${elapsed(msEach * (total - this.#packages))} left`;
  }

  lastLines(): string {
    return this.#recent.slice(-ERROR_LINES).join("\n");
  }

  #compiled(now: number): void {
    this.#packages += 1;
    this.#firstAt ??= now;
  }
}
