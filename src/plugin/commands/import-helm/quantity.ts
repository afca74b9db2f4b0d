import type { Json } from "./json.ts";

const FACTORS: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1 },
  ...{ k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** How much a quantity of Kubernetes is, in whole units or bytes; absent for what is none. */
export function amountOf(value: Json): number | undefined {
  const [, number, suffix = ""] =
    /^(\d{1,18}(?:\.\d{1,9})?(?:[eE]\d{1,2})?)([A-Za-z]{0,2})$/.exec(`${value}`) ?? [];
  const factor = Object.hasOwn(FACTORS, suffix) ? FACTORS[suffix] : undefined;
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
