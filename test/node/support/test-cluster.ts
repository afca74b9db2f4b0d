/** Where the tests run: plain data, so that one process can prepare it and others use it. */
export interface TestCluster {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** The administrator's access to a Postgres that pods and this machine reach at the same address. */
  readonly postgresUrl: string;
  /** The registry and folder of all images, instead of the names that they are built with. */
  readonly imagePrefix: string | undefined;
  /** The images of the current Coder and of the older one to upgrade from; nothing where they are not loaded. */
  readonly coder: { readonly current: string; readonly older: string } | undefined;
  /** Whether it is the node on this machine, whose programs a test may stop. */
  readonly local: boolean;
}
