/** Which Python runs the server and the probes: every place that is asked, in order, as plain data. */

import * as path from 'node:path';

/** Everything the search depends on, so that it can be tested without an editor. */
export interface Surroundings {
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
  home: string;
  /** The folders of the workspace; environments and relative paths are looked for in the first. */
  folders: string[];
  trusted: boolean;
  /** `compileLens.interpreter`; empty means that the user chose nothing. */
  setting: string[];
  /** The environment chosen in ms-python, where that extension is installed. */
  msPython: string | undefined;
  /** `python.defaultInterpreterPath`, which exists as a raw value even where ms-python does not. */
  defaultInterpreterPath: string | undefined;
  isFile(file: string): boolean;
  /** The directory with its symbolic links followed, or itself where it does not exist. */
  realDirectory(directory: string): string;
}

/** A command that starts Python, and the place that named it. */
export interface Interpreter {
  argv: string[];
  source: string;
}

/** One step of the search: an interpreter, or the reason why this place gives none. */
export interface Candidate extends Interpreter {
  refused?: string;
}

/** The outcome of the search: an interpreter, or the missing command that the setting names (empty: nothing was found). */
export type Resolution = { interpreter: Interpreter } | { missing: string[] };

const OWN_SETTING = 'compileLens.interpreter';
const ENVIRONMENT_FOLDERS = ['.venv', 'venv', 'env'];
const NOT_FOUND = 'not found';
const INSIDE = 'lies inside a workspace that is not trusted';

/** Asks every place in order; nothing is started, and nothing inside an untrusted workspace is even looked at. */
export function searchInterpreters(around: Surroundings): Candidate[] {
  const found: Candidate[] = [];
  const add = (source: string, argv: string[], refused?: string): void => {
    found.push(refused === undefined ? { source, argv } : { source, argv, refused });
  };
  const addFile = (source: string, file: string | undefined, missing: string): void => {
    if (file === undefined) add(source, [], missing);
    else add(source, [file], refusal(around, file));
  };

  if (around.setting.length > 0) {
    const argv = around.setting.map((word) => expand(word, around));
    add(OWN_SETTING, locate(argv, around), refuseCommand(argv, around));
  }
  addFile('ms-python', around.msPython, 'no environment from the Python extension');
  const configured = around.defaultInterpreterPath;
  const usable = configured !== undefined && configured !== '' && configured !== 'python';
  addFile('python.defaultInterpreterPath', usable ? absolute(expand(configured, around), around) : undefined, 'not set');
  for (const name of ENVIRONMENT_FOLDERS) {
    const [folder] = around.folders;
    const file = folder === undefined ? undefined : pythonOf(path.join(folder, name), around.platform);
    addFile(`workspace ${name}`, file, 'no folder is open');
  }
  const active = around.env.VIRTUAL_ENV;
  addFile('VIRTUAL_ENV', active ? pythonOf(active, around.platform) : undefined, 'not set');
  const onPath = ['python3', 'python'].flatMap((name) => filesOnPath(name, around));
  for (const file of onPath) addFile('PATH', file, '');
  if (onPath.length === 0) add('PATH', [], 'no python3 or python');
  return found;
}

/** Takes the first usable interpreter; a setting that names a missing one is an error, not a hint. */
export function chooseInterpreter(candidates: Candidate[]): Resolution {
  for (const { source, argv, refused } of candidates) {
    if (refused === undefined) return { interpreter: { argv, source } };
    if (source === OWN_SETTING && refused === NOT_FOUND) return { missing: argv };
  }
  return { missing: [] };
}

/** One line a step, for the log and the debug information. */
export function describeSearch(candidates: Candidate[]): string[] {
  return candidates.map(({ source, argv, refused }) => {
    const command = argv.length > 0 ? ` ${argv.join(' ')}` : '';
    return refused === undefined ? `${source}:${command}` : `${source}:${command} not used, ${refused}`;
  });
}

function refusal(around: Surroundings, file: string): string | undefined {
  if (!around.trusted && isInside(around, file)) return INSIDE;
  return around.isFile(file) ? undefined : NOT_FOUND;
}

/** A launcher such as `uv run python` picks the workspace's own environment, so untrusted it may be a single file only. */
function refuseCommand(argv: string[], around: Surroundings): string | undefined {
  if (!around.trusted && argv.length > 1) return 'a command of several words may start a Python of the untrusted workspace';
  const [file = ''] = locate(argv, around);
  return path.isAbsolute(file) ? refusal(around, file) : NOT_FOUND;
}

/** Replaces a bare program name by the file on PATH, so that the log shows what really runs. */
function locate(argv: string[], around: Surroundings): string[] {
  const [program = '', ...rest] = argv;
  const file = /[\\/]/.test(program) ? absolute(program, around) : filesOnPath(program, around).find((hit) => refusal(around, hit) === undefined);
  return [file ?? program, ...rest];
}

/** Files of that name on PATH; relative entries depend on the working directory and are left out. */
function filesOnPath(name: string, around: Surroundings): string[] {
  const windows = around.platform === 'win32';
  const directories = (around.env.PATH ?? '').split(windows ? ';' : ':').filter((directory) => path.isAbsolute(directory));
  const file = windows && !name.endsWith('.exe') ? `${name}.exe` : name;
  const hits = directories.map((directory) => path.join(directory, file));
  return [...new Set(hits)].filter((hit) => (!around.trusted && isInside(around, hit)) || around.isFile(hit));
}

function pythonOf(environment: string, platform: NodeJS.Platform): string {
  return platform === 'win32' ? path.join(environment, 'Scripts', 'python.exe') : path.join(environment, 'bin', 'python');
}

/** The path inside the workspace decides, wherever its last link points: the workspace could have put the link there. */
function isInside(around: Surroundings, file: string): boolean {
  const within = (folder: string, place: string): boolean => contains(folder, place, around.platform);
  const real = (): string => path.join(around.realDirectory(path.dirname(file)), path.basename(file));
  return around.folders.some((folder) => within(folder, path.resolve(file)) || within(around.realDirectory(folder), real()));
}

function contains(folder: string, file: string, platform: NodeJS.Platform): boolean {
  const fold = (text: string): string => (platform === 'linux' ? text : text.toLowerCase());
  const relative = path.relative(fold(folder), fold(file));
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

function absolute(file: string, around: Surroundings): string {
  return path.resolve(around.folders[0] ?? around.home, file);
}

function expand(text: string, around: Surroundings): string {
  return text
    .replace(/^~(?=$|[\\/])/, around.home)
    .replaceAll('${workspaceFolder}', around.folders[0] ?? '')
    .replaceAll('${userHome}', around.home)
    .replace(/\$\{env:([^}]+)\}/g, (_match, name: string) => around.env[name] ?? '');
}
