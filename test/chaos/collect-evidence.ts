import {
  Deployment,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import type { Fleet } from "./fleet.ts";
import { ORGANIZATIONS } from "./fleet.ts";
import {
  type Evidence,
  leftBehind,
  type SeenChild,
  type SeenCoderd,
  type SeenObject,
  type SeenToken,
} from "./invariants/evidence.ts";
import { KINDS } from "./user.ts";
import type { Coderd, World } from "./world.ts";

const CHILDREN: readonly Kind[] = [Secret, Deployment, Service, ServiceAccount, Role, RoleBinding];
const OURS = "app.kubernetes.io/managed-by=coder-k8s";

/** PollState at everything at this moment: at the API server, at each coderd and into its database. */
export async function collectEvidence(fleet: Fleet, world: World): Promise<Evidence> {
  const [objects, children, coderds] = await Promise.all([
    seenObjects(world),
    childrenOf(world),
    seenCoderds(world),
  ]);
  return {
    fleet,
    licenses: world.licenses,
    objects,
    children: children.map(seenChild),
    secrets: new Map(
      children.filter(({ kind }) => kind === "Secret").map(({ metadata, value }) => [metadata.name, value]),
    ),
    coderds,
    reported: toldOf(world.replicas.outputs),
  };
}

async function seenObjects({ person, namespace }: World): Promise<Map<string, SeenObject>> {
  const lists = await Promise.all(Object.values(KINDS).map((kind) => person.list(kind, { namespace })));
  return new Map(
    lists.flatMap(({ items }) =>
      items.map(
        ({ metadata, status = {} }: Stored<KubeObject> & { status?: SeenObject["status"] }) =>
          [metadata.name, { uid: metadata.uid, generation: metadata.generation ?? 0, status }] as const,
      ),
    ),
  );
}

type Child = Pick<Stored<KubeObject>, "metadata"> & { readonly kind: string; readonly value: string };

async function childrenOf({ person, namespace }: World): Promise<Child[]> {
  const lists = await Promise.all(
    CHILDREN.map(async (kind) => {
      const { items } = await person.list(kind, { namespace, labelSelector: OURS });
      return items.map((item) => ({ metadata: item.metadata, kind: kind.kind, value: secretValue(item) }));
    }),
  );
  return lists.flat();
}

function secretValue({ data = {} }: KubeObject & { data?: Record<string, string> }): string {
  const [value = ""] = Object.values(data);
  return Buffer.from(value, "base64").toString("utf8");
}

function seenChild({ kind, metadata }: Child): SeenChild {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  return { kind, name: metadata.name, ownerUid: owner?.uid };
}

async function seenCoderds({ coderds }: World): Promise<Map<string, SeenCoderd>> {
  const seen = [...coderds].map(async ([name, coderd]) => [name, await seenCoderd(coderd)] as const);
  return new Map(await Promise.all(seen));
}

async function seenCoderd({ deployment, database }: Coderd): Promise<SeenCoderd> {
  const [standard] = deployment.organizations;
  const organizationName = (id: string) =>
    id === standard?.id ? ORGANIZATIONS[0] : (deployment.findOrganization(id)?.name ?? id);
  const tokens = await database.query("SELECT id, encode(hashed_secret, 'hex') AS hash FROM api_keys");
  return {
    keys: deployment.keys.map(({ organization, ...key }) => ({
      ...key,
      organization: organizationName(organization),
    })),
    proxies: deployment.proxies,
    groups: deployment.inside.groups
      .filter(({ id, organization }) => id !== organization)
      .map(({ organization, ...group }) => ({ ...group, organization: organizationName(organization) })),
    licenses: deployment.licenses.map(({ jwt }) => jwt),
    tokens: tokens as unknown as SeenToken[],
  };
}

interface ToldLine {
  readonly key?: string;
  readonly problem?: string;
  readonly proxy?: string;
  readonly entity?: string;
  readonly because?: string;
}

const REPORTED =
  /"msg":"(failed to delete provisioner key|failed to deregister proxy|entity was left behind)"/;

/** The log message of the operator when it releases an object without a complete cleanup. */
function toldOf(outputs: readonly string[]): Map<string, string> {
  const lines = outputs.flatMap((output) => output.split("\n")).filter((line) => REPORTED.test(line));
  return new Map(
    lines.map((line) => {
      const { key, problem = "", proxy = "", entity, because = "" } = JSON.parse(line) as ToldLine;
      if (entity !== undefined) return [leftBehind("group", entity), because];
      return key === undefined ? [leftBehind("proxy", proxy), because] : [leftBehind("key", key), problem];
    }),
  );
}
