/** How a connection to the API server is secured. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** A list of values is sent as several headers of the same name. */
export type RequestHeaders = Readonly<Record<string, string | string[]>>;

/** The credentials of a request. */
export interface Identity {
  readonly tls: TlsOptions;
  readonly headers: RequestHeaders;
}
