import { parser } from "@prometheus-io/lezer-promql";

/** One metric that a query reads, and the labels that it is chosen by. */
interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** A query as Prometheus understands it. */
interface Query {
  readonly selectors: readonly Selector[];
  /** The labels by which it groups and joins. */
  readonly grouping: readonly string[];
}

/** Takes a query apart with the grammar of Prometheus' own editor; throws where that finds an error. */
export function parseQuery(text: string): Query {
  const selectors: { metric: string; labels: string[] }[] = [];
  const grouping: string[] = [];
  let inGrouping = 0;
  parser.parse(text).iterate({
    enter: ({ name, type, from, to }) => {
      const word = text.slice(from, to);
      if (type.isError) throw new SyntaxError(`no PromQL at character ${from}: ${text}`);
      if (name === "VectorSelector") selectors.push({ metric: "", labels: [] });
      if (name === "GroupingLabels") inGrouping++;
      const selector = selectors.at(-1);
      if (name === "Identifier" && selector) selector.metric = word;
      if (name === "LabelName") (inGrouping > 0 ? grouping : selector?.labels)?.push(word);
    },
    leave: ({ name }) => {
      if (name === "GroupingLabels") inGrouping--;
    },
  });
  return { selectors, grouping };
}
