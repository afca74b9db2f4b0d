import { Dice } from "kube-controller-runtime/testing";

const [MINUTE, HOUR] = [60, 3_600];
const DAY = 24 * HOUR;

/** A requested build. Times are in whole seconds since midnight. */
export interface Build {
  readonly at: number;
  readonly seconds: number;
  /** Created by coderd itself: all other builds take precedence. */
  readonly isPrebuild: boolean;
}

/** The load of a day. */
export interface Load {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly builds: readonly Build[];
  /** Whether coderd responds. */
  readonly isUp: (second: number) => boolean;
}

type Draw = (dice: Dice) => Build[];

/** Builds at random times of a part of the day. */
function spread(count: number, [from, to]: [number, number], [shortest, longest]: [number, number]): Draw {
  return (dice) =>
    Array.from({ length: count }, () => ({
      at: dice.whole(from, to - 1),
      seconds: dice.whole(shortest, longest),
      isPrebuild: false,
    }));
}

/** Builds around a time: most within the spread on both sides. */
function rush(count: number, [peak, width]: [number, number], [shortest, longest]: [number, number]): Draw {
  return (dice) =>
    Array.from({ length: count }, () => {
      const bell = [1, 2, 3, 4].reduce((sum) => sum + dice.next(), 0) / 2 - 1;
      return {
        at: Math.max(0, Math.round(peak + bell * width)),
        seconds: dice.whole(shortest, longest),
        isPrebuild: false,
      };
    });
}

function storm(count: number, at: number, [shortest, longest]: [number, number]): Draw {
  return (dice) =>
    Array.from({ length: count }, () => ({ at, seconds: dice.whole(shortest, longest), isPrebuild: true }));
}

const always = () => true;
/** Between 9 and 12 o'clock, no response for three of every ten minutes. */
const flapping = (second: number) =>
  second < 9 * HOUR || second >= 12 * HOUR || second % (10 * MINUTE) >= 3 * MINUTE;

const SHORT: [number, number] = [60, 180];
const office = spread(160, [9 * HOUR, 18 * HOUR], SHORT);
const night = spread(20, [0, DAY], SHORT);

interface Recipe extends Omit<Load, "builds"> {
  readonly parts: readonly Draw[];
}

const RECIPES: readonly Recipe[] = [
  {
    name: "monday",
    title: "Monday morning",
    about: "180 builds around 9 o'clock, 160 over the working day, 20 at any time; 1 to 3 minutes each",
    parts: [rush(180, [9 * HOUR, 30 * MINUTE], SHORT), office, night],
    isUp: always,
  },
  {
    name: "prebuilds",
    title: "Prebuild storm",
    about:
      "60 prebuilds at once at 6, 12 and 18 o'clock, and 180 builds of users, which have priority; 1 to 4 minutes each",
    parts: [6, 12, 18].map((hour) => storm(60, hour * HOUR, [60, 240])).concat(office, night),
    isUp: always,
  },
  {
    name: "long",
    title: "Long builds",
    about: "60 builds of 20 to 60 minutes over the working day, between 180 of 1 to 3 minutes",
    parts: [spread(60, [8 * HOUR, 18 * HOUR], [20 * MINUTE, 60 * MINUTE]), office, night],
    isUp: always,
  },
  {
    name: "flapping",
    title: "A coderd that comes and goes",
    about:
      "the builds of Monday morning, and from 9 to 12 o'clock coderd does not answer for 3 minutes of every 10",
    parts: [rush(180, [9 * HOUR, 30 * MINUTE], SHORT), office, night],
    isUp: flapping,
  },
];

/** The loads for comparing pools, deterministic for a seed. */
export function loads(seed: number): Load[] {
  return RECIPES.map(({ parts, ...load }) => {
    const dice = new Dice(seed);
    const builds = parts.flatMap((draw) => draw(dice)).filter(({ at }) => at < DAY);
    return { ...load, builds: builds.sort((a, b) => a.at - b.at) };
  });
}
