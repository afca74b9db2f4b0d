/** What a user wants a control plane to be. */
export interface ControlPlaneWish {
  readonly kind: "CoderControlPlane";
  readonly name: string;
  readonly replicas: number;
  readonly license: LicenseName;
}

export interface ProvisionerWish {
  readonly kind: "CoderProvisioner";
  readonly name: string;
  readonly controlPlane: string;
  readonly organization: (typeof ORGANIZATIONS)[number];
  readonly tags: Readonly<Record<string, string>>;
  readonly replicas: number;
  /** Absent leaves the name of the key to the operator. */
  readonly keyName: string | undefined;
}

export interface ProxyWish {
  readonly kind: "CoderWorkspaceProxy";
  readonly name: string;
  readonly controlPlane: string;
  readonly proxyName: string;
  readonly displayName: string;
  readonly replicas: number;
}

export interface GroupWish {
  readonly kind: "CoderGroup";
  readonly name: string;
  readonly controlPlane: string;
  readonly organization: (typeof ORGANIZATIONS)[number];
  readonly groupName: string;
  readonly quota: number;
}

/** An object with pods, and with a Secret that the operator makes. */
type WorkloadWish = ControlPlaneWish | ProvisionerWish | ProxyWish;

export type Wish = WorkloadWish | GroupWish;

/** Every object of the fleet by its name, which no other object has, of whatever kind. */
export type Fleet = ReadonlyMap<string, Wish>;

export const LICENSES = ["first", "second"] as const;
export type LicenseName = (typeof LICENSES)[number];

/** Every coderd has both; the first is the default one, under another name of its own. */
export const ORGANIZATIONS = ["default", "team"] as const;

/** The number of control planes, of provisioners and of groups; half as many workspace proxies. */
export function initialFleet(objects: number): Fleet {
  const numbers = Array.from({ length: objects }, (_, number) => number);
  const wishes: Wish[] = [
    ...numbers.map((number) => controlPlane(number)),
    ...numbers.map((number) => provisioner(number)),
    ...numbers.slice(0, Math.ceil(objects / 2)).map((number) => proxy(number)),
    ...numbers.map((number) => group(number)),
  ];
  return new Map(wishes.map((wish) => [wish.name, wish]));
}

function controlPlane(number: number): ControlPlaneWish {
  return { kind: "CoderControlPlane", name: `coder-${number}`, replicas: 1, license: "first" };
}

function provisioner(number: number): ProvisionerWish {
  const name = `pool-${number}`;
  return {
    kind: "CoderProvisioner",
    name,
    controlPlane: `coder-${number}`,
    organization: "default",
    tags: { pool: name },
    replicas: 1,
    keyName: number % 3 === 2 ? `${name}-key` : undefined,
  };
}

function proxy(number: number): ProxyWish {
  const name = `proxy-${number}`;
  return {
    kind: "CoderWorkspaceProxy",
    name,
    controlPlane: `coder-${number}`,
    proxyName: name,
    displayName: `Proxy ${number}`,
    replicas: 1,
  };
}

function group(number: number): GroupWish {
  const name = `group-${number}`;
  const organization = number % 2 === 0 ? "default" : "team";
  return {
    kind: "CoderGroup",
    name,
    controlPlane: `coder-${number}`,
    organization,
    groupName: name,
    quota: 1,
  };
}

/** The objects that have pods, and a Secret that the operator makes. */
export function workloadsOf(fleet: Fleet): WorkloadWish[] {
  return [...fleet.values()].filter((wish) => wish.kind !== "CoderGroup");
}

/** The Secret that the operator makes for an object. */
export function secretOf({ kind, name }: Pick<WorkloadWish, "kind" | "name">): string {
  const suffixes = {
    CoderControlPlane: "operator-token",
    CoderProvisioner: "provisioner-key",
    CoderWorkspaceProxy: "proxy-token",
  };
  return `${name}-${suffixes[kind]}`;
}

/** The wishes of one kind. */
export function wishesOf<Kind extends Wish["kind"]>(
  fleet: Fleet,
  kind: Kind,
): Extract<Wish, { kind: Kind }>[] {
  return [...fleet.values()].filter((wish): wish is Extract<Wish, { kind: Kind }> => wish.kind === kind);
}
