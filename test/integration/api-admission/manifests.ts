/** What one test case writes: an object of one of our kinds, with a spec that no type has checked. */
export interface Manifest {
  readonly kind: keyof typeof plurals;
  /** Absent means an object without a spec. */
  readonly spec?: unknown;
  readonly name?: string;
}

export interface Refused extends Manifest {
  /** The field that the message must name. */
  readonly field: string;
  /** Part of what the message must say beyond that. */
  readonly says?: string;
}

export interface Accepted extends Manifest {
  readonly title: string;
  /** What reading the object back must show. */
  readonly stored: unknown;
}

export const plurals = {
  CoderControlPlane: "codercontrolplanes",
  CoderProvisioner: "coderprovisioners",
  CoderWorkspaceProxy: "coderworkspaceproxies",
  CoderOrganization: "coderorganizations",
  CoderGroup: "codergroups",
} as const;
