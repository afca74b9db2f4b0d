/** Things that vary, each with the values it may have. */
type Factors = Readonly<Record<string, readonly unknown[]>>;

type Choice<F extends Factors> = { [Name in keyof F]: F[Name][number] };

/** The position of a factor and of one of its values. */
interface Pick {
  readonly factor: number;
  readonly value: number;
}

/**
 * Choices in which every two values of different factors meet at least once: nearly all that a full product
 * would find, in a few rows instead of thousands. The same factors always give the same rows.
 */
export function pairwise<F extends Factors>(factors: F): Choice<F>[] {
  const entries = Object.entries(factors);
  const picks = entries.map(([, values], factor) => values.map((_, value): Pick => ({ factor, value })));
  const open = allPairs(picks);
  const rows: Choice<F>[] = [];
  for (let first = nextOf(open); first; first = nextOf(open)) {
    const row = completed(first, picks, open);
    for (const pair of pairsIn(row)) open.delete(pair);
    const values = row.toSorted((a, b) => a.factor - b.factor).map(({ value }) => value);
    rows.push(
      Object.fromEntries(entries.map(([name, all], factor) => [name, all[values[factor] ?? 0]])) as Choice<F>,
    );
  }
  return rows;
}

type OpenPairs = Map<string, readonly [Pick, Pick]>;

function allPairs(picks: readonly (readonly Pick[])[]): OpenPairs {
  const all = picks.flat();
  return new Map(
    all.flatMap((a) => all.filter((b) => a.factor < b.factor).map((b) => [keyOf(a, b), [a, b]] as const)),
  );
}

function nextOf(open: OpenPairs): readonly [Pick, Pick] | undefined {
  return open.values().next().value;
}

/** Adds to a pair, factor by factor, the value that meets most of those it has not met yet. */
function completed(pair: readonly Pick[], picks: readonly (readonly Pick[])[], open: OpenPairs): Pick[] {
  const row = [...pair];
  for (const candidates of picks.filter((_, factor) => row.every((pick) => pick.factor !== factor))) {
    const news = (candidate: Pick) => row.filter((pick) => open.has(keyOf(pick, candidate))).length;
    const best = candidates.toSorted((a, b) => news(b) - news(a))[0];
    if (best) row.push(best);
  }
  return row;
}

function pairsIn(row: readonly Pick[]): string[] {
  return row.flatMap((a) => row.map((b) => keyOf(a, b)));
}

function keyOf(a: Pick, b: Pick): string {
  const [first, second] = a.factor < b.factor ? [a, b] : [b, a];
  return `${first.factor}=${first.value} ${second.factor}=${second.value}`;
}
