import { DatabaseProblem } from "./failure.ts";
import type { DatabaseSession, Row } from "./session.ts";
import { isTrue, texts } from "./values.ts";

interface Column {
  /** Requires a value on insert: not null and without a default. */
  readonly required: boolean;
  /** Labels of an enum, or of an array of enums. */
  readonly labels: readonly string[];
}

export type TableName = "users" | "organizations" | "organization_members" | "api_keys";

/** Required columns. Other known columns are used if they exist. */
const REQUIRED_COLUMNS: Readonly<Record<TableName, readonly string[]>> = {
  users: [
    ...["id", "email", "username", "hashed_password", "created_at", "updated_at", "status"],
    ...["rbac_roles", "login_type", "deleted"],
  ],
  organizations: ["id"],
  organization_members: ["user_id", "organization_id", "created_at", "updated_at", "roles"],
  api_keys: [
    ...["id", "hashed_secret", "user_id", "last_used", "expires_at", "created_at", "updated_at"],
    ...["login_type", "lifetime_seconds", "token_name"],
  ],
};

const READ_COLUMNS = `
  SELECT wanted.name AS table_name, a.attname::text AS column_name,
         a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS required,
         array_to_json(ARRAY(SELECT enumlabel::text FROM pg_enum WHERE enumtypid IN (t.oid, t.typelem))) AS labels
  FROM unnest($1::text[]) AS wanted (name)
  JOIN pg_attribute a ON a.attrelid = to_regclass(wanted.name) AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid`;

/**
 * A table as it exists in this database. Columns differ between versions of coderd, so the catalog is read
 * before anything is written.
 */
export class Table {
  readonly name: TableName;
  readonly #columns: ReadonlyMap<string, Column>;

  constructor(name: TableName, columns: ReadonlyMap<string, Column>) {
    this.name = name;
    this.#columns = columns;
  }

  has(column: string): boolean {
    return this.#columns.has(column);
  }

  /** Returns the first of `labels` that the enum column supports. */
  label(column: string, ...labels: string[]): string {
    const known = this.#columns.get(column)?.labels ?? [];
    const label = labels.find((candidate) => known.includes(candidate));
    if (label === undefined)
      throw this.#unsupported(column, `does not accept the value ${labels.join(" or ")}`);
    return label;
  }

  /** Throws if the table lacks one of `columns`. */
  need(columns: readonly string[]): this {
    const missing = columns.find((column) => !this.has(column));
    if (missing !== undefined) throw this.#unsupported(missing, "is missing");
    return this;
  }

  /**
   * Inserts the `values` whose columns exist. Throws if the table requires a column that is not among them.
   */
  async insert(session: DatabaseSession, values: Readonly<Record<string, unknown>>): Promise<void> {
    const row = new Map(Object.entries(values).filter(([column]) => this.has(column)));
    for (const [column, { required }] of this.#columns)
      if (required && !row.has(column)) throw this.#unsupported(column, "is required but unknown");
    const columns = [...row.keys()];
    const slots = columns.map((_, index) => `$${index + 1}`);
    const sql = `INSERT INTO ${this.name} (${columns.join(", ")}) VALUES (${slots.join(", ")})`;
    await session.query(sql, [...row.values()]);
  }

  #unsupported(column: string, what: string): DatabaseProblem {
    const message = `Column ${this.name}.${column} ${what}: the operator does not support this version of coderd. Upgrade the operator, or provide a token with spec.operatorAccess.tokenSecretRef.`;
    return new DatabaseProblem("schemaUnsupported", message);
  }
}

export type Tables = Readonly<Record<TableName, Table>>;

/** Reads the structure of the tables. Fails with `schemaMissing` if coderd has not created them yet. */
export async function readTables(session: DatabaseSession): Promise<Tables> {
  const rows = await session.query(READ_COLUMNS, [Object.keys(REQUIRED_COLUMNS)]);
  const table = (name: TableName): Table => {
    const columns = rows.filter((row) => row.table_name === name);
    if (columns.length === 0) {
      const message = `Table ${name} is missing: coderd has not migrated the database yet.`;
      throw new DatabaseProblem("schemaMissing", message);
    }
    return new Table(name, new Map(columns.map(readColumn))).need(REQUIRED_COLUMNS[name]);
  };
  return {
    users: table("users"),
    organizations: table("organizations"),
    organization_members: table("organization_members"),
    api_keys: table("api_keys"),
  };
}

function readColumn(row: Row): [string, Column] {
  return [String(row.column_name), { required: isTrue(row.required), labels: texts(row.labels) }];
}
