/** How a connection to the API server is secured. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Several values are several lines of the same name. */
export type RequestHeaders = Readonly<Record<string, string | string[]>>;

/** What a request proves who we are with. */
export interface Identity {
  readonly tls: TlsOptions;
  readonly headers: RequestHeaders;
}
