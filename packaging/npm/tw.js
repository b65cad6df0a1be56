#!/usr/bin/env node
// Starts the tw that the package for this platform brought. Nothing is fetched and nothing is run at installation.
'use strict';

const { spawn } = require('node:child_process');

const platform = `timewarp-tw-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/tw`);
} catch {
  console.error(`error: the package '${platform}', which has tw for this machine, is not installed`);
  console.error('hint: install again without --omit=optional; where there is no such package: cargo install timewarp');
  process.exit(69);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => {
  console.error(`error: cannot run '${program}': ${error.message}`);
  process.exit(69);
});
// A terminal's Ctrl-C reaches tw by itself, which ends what it is doing before it goes; twice would kill it.
for (const signal of ['SIGINT', 'SIGQUIT']) {
  process.on(signal, () => {});
}
for (const signal of ['SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exitCode = code;
  }
});
