import { editsBetween } from '../text/nearest-name';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from './settings';

/** A variable that nobody here reads and that most likely was meant for this program. */
export interface UnknownSetting {
  name: string;
  /** What was most likely meant; null: nothing is near. */
  nearest: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** In front of what the command line and the clients read. */
const PREFIX = 'QUIVER_';
/** What those read, and what the guides call the service's address, key and profiles. */
const CLIENT_NAMES = [
  'QUIVER_URL',
  'QUIVER_API_KEY',
  'QUIVER_PROFILE',
  'QUIVER_PROFILES',
  'QUIVER_PEER_KEY',
  'QUIVER_PEER_USER',
  'QUIVER_PEER_PASSWORD',
];
/** Names of other programs: all that begin so, and one that is near ours. */
const OF_OTHERS =
  /^(?:APP|AWS|CI|DOCKER|ETCDCTL|GITHUB|GITLAB|HF|JAVA|KUBERNETES|LC|NPM|OTEL|PG|SSH|UV|VSCODE|XDG)_|^(?:GRPC_PORT|MAX_CONNECTIONS)$/i;
/**
 * Kubernetes tells each container of the services beside it: `QUIVER_SERVICE_HOST`, `OPS_PORT_9090_TCP_ADDR`,
 * `RPCS_PORT=tcp://…`.
 */
const OF_SERVICES = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;
/** Shorter names have too many neighbours that are words of others: of these, only letters in another order count. */
const TYPED_WRONG_LENGTH_MIN = 8;

const OWNER_LENGTH_MAX = 5;

const SETTING_NAMES: readonly string[] = Object.values<Setting>({ ...SETTINGS, ...CLUSTER_SETTINGS }).flatMap(
  ({ name, kind }) => (kind === 'secret' ? [name, `${name}_FILE`] : [name]),
);
const KNOWN: ReadonlySet<string> = new Set([...SETTING_NAMES, ...CLIENT_NAMES, 'ETCD_ROOT_PASSWORD']);

/**
 * The variables of an environment that look like a setting and are none: spelt almost as one, in other letters, with
 * its words in another order, or behind `QUIVER_`. Names that are plainly others' are left alone. In the order of their
 * names.
 */
export function unknownSettings(environment: Environment): UnknownSetting[] {
  const found: UnknownSetting[] = [];
  for (const [name, value] of Object.entries(environment)) {
    if (!value || KNOWN.has(name) || OF_OTHERS.test(name) || OF_SERVICES.test(name) || SERVICE_ADDRESS.test(value))
      continue;
    const nearest = name.startsWith(PREFIX)
      ? (nearestOf(name, CLIENT_NAMES) ?? nearestSetting(name.slice(PREFIX.length)))
      : nearestSetting(name);
    // Where both spellings are there, the right one is set.
    if (nearest !== null ? !environment[nearest] : name.startsWith(PREFIX)) found.push({ name, nearest });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The same of what the command line reads: names behind `QUIVER_` that are near one of its own. */
export function unknownClientSettings(environment: Environment): UnknownSetting[] {
  return unknownSettings(environment).filter(({ nearest }) => nearest !== null && CLIENT_NAMES.includes(nearest));
}

/** For people. */
export function describeUnknown({ name, nearest }: UnknownSetting): string {
  return nearest === null ? `${name} is not a setting` : `${name} is not a setting: did you mean ${nearest}?`;
}

function nearestSetting(name: string): string | null {
  return SETTING_NAMES.includes(name) ? name : nearestOf(name, SETTING_NAMES);
}

function nearestOf(given: string, names: readonly string[]): string | null {
  const { bare: name, words } = spellingOf(given);
  let nearest: string | null = null;
  let fewest = Infinity;
  for (const known of names) {
    const { bare: other, words: otherWords } = spellingOfKnown(known);
    const isShort = other.length < TYPED_WRONG_LENGTH_MIN - 1;
    // In lower case, a short name is a variable of somebody's shell.
    if (isShort && given !== given.toUpperCase()) continue;
    if (name === other || (words.includes(' ') && words === otherWords)) return known;
    const most = isShort ? 1 : editsAllowed(other.length);
    const edits = editsBetween(name, other, most);
    if (edits > most || edits >= fewest || ((isShort || isOfAnother(given, known)) && !isSwapped(name, other)))
      continue;
    nearest = known;
    fewest = edits;
  }
  return nearest;
}

function editsAllowed(length: number): number {
  return length < 10 ? 1 : length < 16 ? 2 : 3;
}

/** Whether a name differs in a short first word alone, which says whose it is: `SSL_CERT_FILE`, `TCP_PORT`. */
function isOfAnother(given: string, known: string): boolean {
  const at = given.indexOf('_');
  return (
    at > 0 && at < OWNER_LENGTH_MAX && known.endsWith(given.slice(at)) && !known.startsWith(given.slice(0, at + 1))
  );
}

/** Whether a short name has the letters of another in an order that is one swap away. */
function isSwapped(name: string, other: string): boolean {
  return name.length === other.length && [...name].sort().join('') === [...other].sort().join('');
}

interface Spelling {
  /** Capitals and digits alone. */
  bare: string;
  /** Its words in capitals and in their order. */
  words: string;
}

function spellingOf(name: string): Spelling {
  const capitals = name.toUpperCase();
  return { bare: capitals.replaceAll(/[^A-Z0-9]/g, ''), words: capitals.split('_').sort().join(' ') };
}

/** Compared with each variable of an environment, which a start would notice. */
const KNOWN_SPELLINGS = new Map<string, Spelling>();

function spellingOfKnown(name: string): Spelling {
  let spelling = KNOWN_SPELLINGS.get(name);
  if (spelling === undefined) KNOWN_SPELLINGS.set(name, (spelling = spellingOf(name)));
  return spelling;
}
