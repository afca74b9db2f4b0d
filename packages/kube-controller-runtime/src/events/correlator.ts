import { fnv1a32 } from "../hash.ts";

/** One occurrence of an event. */
export interface Occurrence {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Occurrences that share one Event: only their count and times are stored. */
export interface Series {
  readonly id: string;
  count: number;
  /** The count in the stored Event; 0 if there is none yet. */
  reported: number;
  firstMs: number;
  lastMs: number;
  /** The name of the Event, once assigned. */
  name?: string | undefined;
}

/** Similar occurrences: those with the same type and reason, by message. */
interface Group {
  lastMs: number;
  readonly series: Map<string, Series>;
}

interface Subject {
  readonly groups: LruMap<string, Group>;
  tokens: number;
  refilledMs: number;
}

/** Maximum number of tracked objects; evicting one only causes an extra Event. */
const MAX_SUBJECTS = 10_000;
const MAX_GROUPS = 50;
/** A series or a group ends after this time without an occurrence. */
const WINDOW_MS = 600_000;
/** Number of distinct messages of a group; further messages share one Event. */
const MAX_MESSAGES = 10;
const COMBINED = "combined";
/** Writes per object: a burst of 25, then one every five minutes, as in client-go. */
const BURST = 25;
const REFILL_MS = 300_000;

/**
 * Aggregates occurrences. Like client-go's correlator, it joins equal ones into a series, combines too many
 * different messages with the same reason, and limits the writes per object. Its memory is bounded.
 */
export class EventCorrelator {
  readonly #subjects = new LruMap<string, Subject>(MAX_SUBJECTS);
  #nextId = 0;

  /** Counts an occurrence and returns its series. */
  count(subjectId: string, occurrence: Occurrence, now: number): { series: Series; message: string } {
    const group = this.#groupOf(subjectId, occurrence, now);
    const own = fnv1a32(occurrence.message);
    const combined = !group.series.has(own) && group.series.size >= MAX_MESSAGES;
    const key = combined ? COMBINED : own;
    const series = group.series.get(key) ?? this.#newSeries(now);
    group.series.set(key, series);
    series.count++;
    series.lastMs = now;
    const prefix = combined ? "(combined from similar events): " : "";
    return { series, message: `${prefix}${occurrence.message}` };
  }

  /** Takes a write from the object's budget; false if it is exhausted. */
  mayWrite(subjectId: string, now: number): boolean {
    const subject = this.#subjectOf(subjectId, now);
    const refill = Math.max(0, Math.floor((now - subject.refilledMs) / REFILL_MS));
    subject.tokens = Math.min(BURST, subject.tokens + refill);
    subject.refilledMs += refill * REFILL_MS;
    if (subject.tokens === 0) return false;
    subject.tokens--;
    return true;
  }

  #subjectOf(id: string, now: number): Subject {
    return this.#subjects.use(id, () => ({
      groups: new LruMap(MAX_GROUPS),
      tokens: BURST,
      refilledMs: now,
    }));
  }

  #groupOf(subjectId: string, { type, reason }: Occurrence, now: number): Group {
    const { groups } = this.#subjectOf(subjectId, now);
    const group = groups.use(`${type}/${reason}`, () => ({ lastMs: now, series: new Map() }));
    if (now - group.lastMs > WINDOW_MS) group.series.clear();
    group.lastMs = now;
    return group;
  }

  #newSeries(now: number): Series {
    return { id: `${this.#nextId++}`, count: 0, reported: 0, firstMs: now, lastMs: now };
  }
}

/** A map that evicts the least recently used entry when it grows beyond `limit`. */
export class LruMap<K, V> {
  readonly #limit: number;
  readonly #entries = new Map<K, V>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value of `key`, created by `create` if absent. */
  use(key: K, create: () => V): V {
    const value = this.#entries.get(key) ?? create();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#limit) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest as K);
    }
    return value;
  }
}
