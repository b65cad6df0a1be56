// The page of 'tw web' in a real browser: what is hostile stays text, keys work, axe finds nothing, and many entries are walked.
//
// usage: node page.mjs ADDRESS FILE [SCREENSHOTS]
// ADDRESS is what 'tw web --allow-changes' printed, FILE what 'tw web --export --prompts' wrote. TW_CHROMIUM names a browser.
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';

const [address, file, pictures] = process.argv.slice(2);
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SIZES = [[360, 740], [900, 700], [1600, 900]];

async function launch() {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'];
  if (process.env.TW_CHROMIUM) return puppeteer.launch({ executablePath: process.env.TW_CHROMIUM, args });
  const { default: chromium } = await import('@sparticuz/chromium');
  return puppeteer.launch({ executablePath: await chromium.executablePath(), args, headless: 'shell' });
}

const browser = await launch();
let failed = 0;
async function check(name, work) {
  try {
    await work();
    console.log('ok ' + name);
  } catch (error) {
    failed += 1;
    for (const page of await browser.pages()) await page.close();
    console.log('FAILED ' + name + '\n  ' + String(error.stack).replaceAll('\n', '\n  '));
  }
}

async function lookAs(page, scheme, width, height) {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
}

// What somebody does who has keys alone.
function byKeys(page) {
  const active = () => page.evaluate(() => {
    const at = document.activeElement;
    return { id: at.id, name: at.name || '', text: at.textContent, list: at.id === 'list' };
  });
  // On to what a key would reach, as Tab goes; 'Restore this hunk' has more behind it for those who hear it.
  const tab = async (is, what) => {
    for (let tries = 0; tries < 120; tries += 1) {
      if (is(await active())) return;
      await page.keyboard.press('Tab');
    }
    assert.fail('Tab never reached ' + what);
  };
  const press = async (text) => {
    await page.waitForFunction((text) => [...document.querySelectorAll('button')].some((button) => button.textContent.startsWith(text)), {}, text)
      .catch(() => assert.fail('there is no button ' + text));
    await tab((at) => at.text.startsWith(text) && at.id !== 'dialog', text);
    await page.keyboard.press('Enter');
  };
  const dialog = async (pattern, focused = 'No') => {
    await page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector('dialog[open]')?.innerText), {}, pattern)
      .catch(async () => assert.fail(pattern + ' is not in ' + await page.evaluate(() => document.querySelector('dialog').innerText)));
    assert.equal((await active()).text, focused);
  };
  const leave = async () => {
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('dialog').open);
  };
  return { active, tab, press, dialog, leave };
}

// A page that tells of everything it should not do.
// `answers` are what the server says of some questions, by their names.
async function open(where, { width = 1600, height = 900, scheme = 'light', allowed = () => false, answers = {} } = {}) {
  const page = await browser.newPage();
  await page.evaluateOnNewDocument((answers) => {
    const ask = window.fetch;
    window.answers = answers;
    window.fetch = async (url, options) => {
      const answer = window.answers[String(url).replace('/api/', '')];
      if (!answer) return ask(url, options);
      return new Response(JSON.stringify(answer), { headers: { 'Content-Type': 'application/json' } });
    };
  }, answers);
  const wrong = [];
  page.on('dialog', (dialog) => { wrong.push('dialog: ' + dialog.message()); dialog.dismiss(); });
  page.on('pageerror', (error) => wrong.push('error: ' + error.message));
  page.on('console', (line) => { if (line.type() === 'error') wrong.push('console: ' + line.text()); });
  page.on('request', (request) => {
    const url = request.url();
    if (url !== where && !allowed(url)) wrong.push('request: ' + url);
  });
  await lookAs(page, scheme, width, height);
  page.setDefaultTimeout(5000);
  await page.goto(where);
  await page.waitForSelector('.row').catch((error) => { throw new Error(error.message + '; ' + wrong.join('; ')); });
  return { page, wrong };
}
const origin = new URL(address).origin;
const ownApi = (url) => url.startsWith(origin + '/') || url.endsWith('/favicon.ico');
const stored = pathToFileURL(file).href;

async function axe(page) {
  // In a world of its own, which the page's content policy does not reach.
  const client = await page.createCDPSession();
  const { frameTree } = await client.send('Page.getFrameTree');
  const { executionContextId } = await client.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  const run = async (expression) => {
    const { result, exceptionDetails } = await client.send('Runtime.evaluate', { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  await run(axeSource);
  const found = await run(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then((r) => JSON.stringify({
    violations: r.violations.map((v) => v.id + ': ' + v.help + ' ' + v.nodes.map((n) => n.target.join(' ') + ' ' + n.failureSummary).join('; ')),
    passes: r.passes.length }))`);
  await client.detach();
  return JSON.parse(found);
}

for (const [name, where, allowed] of [['live', address, ownApi], ['stored', stored, () => false]]) {
  for (const scheme of ['light', 'dark']) {
    for (const [width, height] of SIZES) {
      await check(`${name} ${scheme} ${width}: axe finds nothing, and nothing sticks out`, async () => {
        const { page, wrong } = await open(where, { width, height, scheme, allowed });
        await page.focus('#list');
        for (let tries = 0; tries < 12 && !(await page.$('ins.l')); tries += 1) {
          await page.keyboard.press('ArrowDown');
          await page.waitForFunction(() => document.querySelector('#files').hasChildNodes());
          await new Promise((done) => setTimeout(done, 150));
        }
        await page.waitForSelector('ins.l');
        const { violations, passes } = await axe(page);
        assert.deepEqual(violations, []);
        assert.ok(passes > 15, String(passes));
        const sticksOut = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(sticksOut, 0);
        if (pictures) {
          mkdirSync(pictures, { recursive: true });
          await page.screenshot({ path: `${pictures}/${name}-${scheme}-${width}.png` });
        }
        assert.deepEqual(wrong, []);
        await page.close();
      });
    }
  }
  await check(`${name}: 320 wide, and text twice as large, without scrolling sideways`, async () => {
    const { page } = await open(where, { width: 320, height: 640, allowed });
    for (const size of ['100%', '200%']) {
      await page.evaluate((size) => { document.documentElement.style.fontSize = size; }, size);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, size);
    }
    await page.close();
  });
  await check(`${name}: what is hostile stays text, and is seen`, async () => {
    const { page, wrong } = await open(where, { allowed });
    await page.focus('#list');
    const count = await page.evaluate(() => Number(document.querySelector('[role=option]').getAttribute('aria-setsize')));
    for (let at = 0; at < count; at += 1) {
      await page.keyboard.press('ArrowDown');
      await page.waitForFunction(() => document.querySelector('#files').hasChildNodes());
    }
    const rows = await page.evaluate(() => [...document.querySelectorAll('.row')].map((row) => row.textContent).join('\n'));
    assert.match(rows, /<script>alert\(1\)<\/script> \\u\{202e\}drow and \\u\{1b\}\[31mred/);
    assert.equal(await page.evaluate(() => document.querySelectorAll('img, iframe, object, embed, link, b').length), 0);
    assert.equal(await page.evaluate(() => document.querySelectorAll('script').length), 2);
    assert.deepEqual(wrong, []);
    await page.close();
  });
  await check(`${name}: keys move, read, search and come back`, async () => {
    const { page, wrong } = await open(where, { allowed });
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.focus('#list');
    await page.keyboard.press('End');
    await page.waitForFunction(() => document.querySelector('[aria-selected=true]').getAttribute('aria-posinset') === document.querySelector('[aria-selected=true]').getAttribute('aria-setsize'));
    await page.keyboard.press('Home');
    const active = await page.evaluate(() => document.getElementById(document.querySelector('#list').getAttribute('aria-activedescendant')).getAttribute('aria-posinset'));
    assert.equal(active, '1');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'detail');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'list');
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
    await page.keyboard.type('build is slow');
    await page.waitForFunction(() => document.querySelector('#status').textContent === '1 entry');
    assert.match(await page.evaluate(() => document.querySelector('.row').textContent), /the build is slow/);
    await page.evaluate(() => { document.querySelector('#search').value = ''; document.querySelector('#search').dispatchEvent(new Event('input')); });
    await page.select('#kind', 'prompt');
    await page.waitForFunction(() => document.querySelector('#status').textContent === '2 entries');
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

// The page with snapshots alone, and what its right side says.
async function snapshots(where, allowed) {
  const { page, wrong } = await open(where, { allowed });
  await page.select('#kind', 'snapshot');
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('.row')];
    return rows.length > 0 && rows.every((row) => row.firstChild.textContent.startsWith('snapshot'));
  });
  await page.focus('#list');
  const detail = (pattern) => page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector('#detail').innerText), {}, pattern)
    .catch(async () => assert.fail(pattern + ' is not in ' + await page.evaluate(() => document.querySelector('#detail').innerText)));
  const told = async () => {
    await page.waitForFunction(() => document.querySelectorAll('.l, .note-line').length > 3);
    await new Promise((done) => setTimeout(done, 300));
    return page.evaluate(() => document.querySelector('#files').innerText);
  };
  return { page, wrong, detail, told };
}

await check('two marks are compared by keys, and the file says of them what the server says', async () => {
  const said = [];
  for (const [where, allowed] of [[address, ownApi], [stored, () => false]]) {
    const { page, wrong, detail, told } = await snapshots(where, allowed);
    await page.keyboard.press('c');
    assert.match(await page.evaluate(() => document.querySelector('#status').textContent), /mark one or two/);
    await page.keyboard.press('m');
    await page.keyboard.press('End');
    await page.keyboard.press('m');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('c');
    await detail('compared with [^]*added <b>hostile.html[^]*modified a.txt');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'detail');
    said.push((await told()).replace(/AKIA\w+|\*\*\*REDACTED:[a-z-]+\*\*\*/g, 'SECRET'));
    const { violations } = await axe(page);
    assert.deepEqual(violations, []);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  assert.equal(said[0], said[1]);
});

// The file as a filter of the export would have made it.
function variant(name, change) {
  const [head, rest] = readFileSync(file, 'utf8').split('id="data">');
  const end = rest.indexOf('</script>');
  const data = JSON.parse(rest.slice(0, end));
  change(data);
  const made = file + '.' + name + '.html';
  writeFileSync(made, head + 'id="data">' + JSON.stringify(data).replaceAll('<', '\\u003c') + rest.slice(end));
  return pathToFileURL(made).href;
}
async function firstWithLast(page) {
  for (const key of ['Home', 'm', 'End', 'c']) await page.keyboard.press(key);
}

await check('stored: what the file cannot compare is said, and there is no present in it', async () => {
  const gap = variant('gap', (data) => {
    const all = data.entries.filter((entry) => entry.kind === 'snapshot');
    data.entries = [all[0], all[all.length - 1]];
  });
  const { page, wrong, detail } = await snapshots(gap, () => false);
  await firstWithLast(page);
  await detail("What lies between them is not in this file. 'tw diff s_[a-z0-9_]+ s_[a-z0-9_]+' compares them");
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  assert.match(await page.evaluate(() => document.querySelector('#detail-title').textContent), / compared with s_/);
  const buttons = await page.evaluate(() => [...document.querySelectorAll('#actions button')].map((button) => button.textContent));
  assert.ok(!buttons.some((text) => text.includes('present')), buttons.join());
  assert.deepEqual(wrong, []);
  await page.close();
  const steps = variant('steps', (data) => {
    const [three, two, one] = data.entries.filter((entry) => entry.kind === 'snapshot');
    const file = (old, now, from, to) => ({
      path: 'steps.txt', status: 'M', old_mode: '100644', new_mode: '100644', same: [900, old, now],
      lines: { what: 'lines', lines: [['@', null, null, '@@ -1 +1 @@'], ['-', 1, null, from], ['+', null, 1, to]], next: null },
    });
    Object.assign(one, { paths: [], total: 0, trees: { own: 900, between: null } });
    Object.assign(two, { paths: [file(900, 901, 'a', 'b')], total: 1, trees: { own: 901, between: [900, 901] } });
    Object.assign(three, { paths: [file(901, 902, 'b', 'c')], total: 1, trees: { own: 902, between: [901, 902] } });
    data.entries = [three, two, one];
  });
  const second = await snapshots(steps, () => false);
  await firstWithLast(second.page);
  await second.detail('modified steps.txt[^]*It changed in several steps');
  // Back again within one comparison: nothing differs.
  const back = variant('back', (data) => {
    const [three, two, one] = data.entries.filter((entry) => entry.kind === 'snapshot');
    const file = (old, now) => ({ path: 'steps.txt', status: 'M', old_mode: '100644', new_mode: '100644', same: [900, old, now], lines: { what: 'binary', lines: [], next: null } });
    Object.assign(one, { paths: [], total: 0, trees: { own: 900, between: null } });
    Object.assign(two, { paths: [file(900, 901)], total: 1, trees: { own: 901, between: [900, 901] } });
    Object.assign(three, { paths: [file(901, 900)], total: 1, trees: { own: 902, between: [901, 902] } });
    data.entries = [three, two, one];
  });
  const third = await snapshots(back, () => false);
  await firstWithLast(third.page);
  await third.detail('compared with[^]*0 paths changed');
});

await check('code has its colours, live and stored, with contrast in light and dark', async () => {
  const live = await snapshots(address, ownApi);
  await live.page.keyboard.press('End');
  await live.page.keyboard.press('p');
  await live.detail('added key.rs[^]*const KEY');
  const words = await live.page.evaluate(() => [...document.querySelectorAll('.ink-keyword, .ink-text')].map((span) => span.textContent));
  assert.deepEqual(words, ['const', '"AKIAIOSFODNN7EXAMPLQ"']);
  await live.page.close();
  const file = variant('inks', (data) => {
    const text = 'let a = 1; "\u{1f600}" // why \u{202e}';
    const inks = 'k3.5n1.2t4.1c8';
    const other = text.replace('a', 'b');
    data.entries = data.entries.filter((entry) => entry.kind === 'snapshot').slice(0, 1);
    data.entries[0].paths = [{
      path: 'x.rs', status: 'M', old_mode: '100644', new_mode: '100644', same: [1, 2, 3],
      lines: { what: 'lines', next: null, lines: [['@', null, null, '@@ -1 +1 @@'], [' ', 1, 1, text, inks], ['-', 2, null, text, inks], ['+', null, 2, other, inks], [' ', 3, 3, text, inks], ['+', null, 4, text, inks]] },
    }];
    data.entries[0].total = 1;
  });
  for (const scheme of ['light', 'dark']) {
    const { page, wrong } = await open(file, { scheme });
    await page.waitForSelector('.l mark');
    const told = await page.evaluate(() => [...document.querySelectorAll('.l .t')].map((line) => [...line.childNodes].map((part) => (part.className || part.localName || 'plain').replace('ink-', '') + ':' + part.textContent).join('|')));
    const plain = "keyword:let|plain: a = |number:1|plain:; |text:\"\u{1f600}\"|plain: |comment:// why \\u{202e}";
    assert.equal(told[0], plain);
    assert.equal(told[2], plain.replace('plain: a = ', 'plain: |mark:b|plain: = '));
    const { violations } = await axe(page);
    assert.deepEqual(violations, []);
    const colours = await page.evaluate(() => new Set(['comment', 'text', 'number', 'keyword'].map((ink) => getComputedStyle(document.querySelector('.ink-' + ink)).color)).size);
    assert.equal(colours, 4);
    assert.deepEqual(wrong, []);
    await page.close();
  }
});

await check('live: a snapshot is compared with the present', async () => {
  const { page, wrong, detail } = await snapshots(address, ownApi);
  await page.keyboard.press('End');
  await page.keyboard.press('p');
  await detail('compared with the present[^]*added <b>hostile.html[^]*modified a.txt[^]*two words');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'detail');
  const { violations } = await axe(page);
  assert.deepEqual(violations, []);
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('live: two marks are compared, and a search in all files leads to a snapshot', async () => {
  const { page, wrong } = await open(address, { allowed: ownApi });
  const detail = (pattern) => page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector('#detail').innerText), {}, pattern);
  await page.select('#kind', 'snapshot');
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('.row')];
    return rows.length > 0 && rows.every((row) => row.firstChild.textContent.startsWith('snapshot'));
  });
  await page.focus('#list');
  await page.keyboard.press('End');
  await page.keyboard.press('m');
  await page.waitForFunction(() => document.querySelector('[aria-selected=true]').textContent.includes('marked'));
  await page.keyboard.press('Home');
  await page.waitForFunction(() => [...document.querySelectorAll('#actions button')].some((button) => button.textContent.startsWith('Compare')));
  await page.evaluate(() => [...document.querySelectorAll('#actions button')].find((button) => button.textContent.startsWith('Compare')).click());
  await detail('compared with [^]*added <b>hostile.html[^]*modified a.txt');
  await page.select('#where', 'content');
  await page.focus('#search');
  await page.keyboard.type('two words');
  await page.keyboard.press('Enter');
  await detail('1 hit for [^]*a.txt:2[^]*two words');
  const { violations } = await axe(page);
  assert.deepEqual(violations, []);
  if (pictures) await page.screenshot({ path: `${pictures}/search.png` });
  await page.evaluate(() => document.querySelector('.hits button').click());
  await detail('snapshot \\(manual\\)');
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('live: a page that is loaded again finds its token, and one without says what to do', async () => {
  const { page } = await open(address, { allowed: ownApi });
  assert.equal(await page.evaluate(() => location.href), origin + '/');
  await page.reload({ waitUntil: 'networkidle0' });
  await page.waitForSelector('.row');
  await page.close();
  const context = await browser.createBrowserContext();
  const stranger = await context.newPage();
  await stranger.goto(origin + '/');
  assert.match(await stranger.evaluate(() => document.body.innerText), /Open the address that tw web printed/);
  await context.close();
});

await check('live: a change shows its dry run first, with No under the cursor', async () => {
  const { page, wrong } = await open(address, { allowed: ownApi });
  await page.select('#kind', 'snapshot');
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('.row')];
    return rows.length > 0 && rows.every((row) => row.firstChild.textContent.startsWith('snapshot'));
  });
  await page.focus('#list');
  await page.keyboard.press('End');
  const press = async (text) => {
    await page.waitForFunction((text) => [...document.querySelectorAll('button')].some((button) => button.textContent === text), {}, text);
    await page.evaluate((text) => [...document.querySelectorAll('button')].find((button) => button.textContent === text).click(), text);
  };
  const modal = async () => {
    await page.waitForSelector('dialog[open]');
    return page.evaluate(() => [document.querySelector('dialog').innerText, document.activeElement.textContent]);
  };
  await press('Travel here');
  const [text, focused] = await modal();
  assert.match(text, /would then be in the past/);
  assert.match(text, /paths? would be written, \d+ removed/);
  assert.equal(focused, 'No');
  if (pictures) await page.screenshot({ path: `${pictures}/dialog.png` });
  const { violations } = await axe(page);
  assert.deepEqual(violations, []);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'nothing was done');
  assert.equal(await page.evaluate(() => document.querySelector('#place').className), 'present');
  await press('Travel here');
  await modal();
  await press('Yes, do it');
  await page.waitForFunction(() => document.querySelector('#place').className === 'past');
  await page.waitForFunction(() => !document.querySelector('dialog').open);
  await press('Return to the present');
  await modal();
  await press('Yes, do it');
  await page.waitForFunction(() => document.querySelector('#place').className === 'present');
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('live: a rewind asks what goes back, and a directory says where it is, by keys alone', async () => {
  const { page, wrong } = await open(address, { allowed: ownApi });
  await page.select('#kind', 'prompt');
  await page.waitForFunction(() => document.querySelector('#status').textContent === '2 entries');
  await page.focus('#list');
  await page.keyboard.press('End');
  const { press, dialog, leave } = byKeys(page);
  await page.keyboard.press('Enter');
  await press('Rewind to the prompt');
  await dialog('Rewind to checkpoint 0: write the parser[^]*What goes back');
  const { violations } = await axe(page);
  assert.deepEqual(violations, []);
  await press('The files');
  await dialog('Files: \\d+ paths? would go back');
  await leave();
  await press('Open in a directory');
  await dialog('It would be laid out in /');
  await press('Yes, do it');
  await dialog("Done: Open[^]*It is in /[^]* until 'tw close' removes it", 'Close');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'list');
  assert.deepEqual(wrong, []);
  await page.close();
});

// What a dialog says of a document that a dry run gave.
async function shownOf(button, preview) {
  const { page, wrong } = await open(address, { allowed: ownApi, answers: { try: { ok: true, confirm: 'x', preview } } });
  // The newest entry may be an issue, which has no files.
  await page.select('#kind', 'snapshot');
  await page.waitForFunction((button) => [...document.querySelectorAll('button')].some((one) => one.textContent === button), {}, button);
  await page.evaluate((button) => [...document.querySelectorAll('button')].find((one) => one.textContent === button).click(), button);
  await page.waitForSelector('dialog[open]');
  const said = await page.evaluate(() => document.querySelector('dialog').innerText);
  assert.deepEqual(wrong, []);
  await page.close();
  return said;
}
const none = { written: [], removed: [] };

await check('live: a dry run says what goes in the members of a workspace, and what a return leaves', async () => {
  const member = { path: '../two', written: 1, removed: 1 };
  const travel = await shownOf('Travel here', { mode: 'past', changes: { written: ['f'], removed: [] }, members: [member] });
  assert.match(travel, /1 path would be written, 0 removed[^]*Member ..\/two: 1 path would be written, 1 removed/);
  const returned = { changed_since: ['theirs'], kept: [], head: { restored: false, ref: 'refs/heads/main', oid: 'a'.repeat(40), reason: 'branch-moved' } };
  const home = await shownOf('Undo', {
    direction: 'undo', mode: 'present', changes: none, changed_since: ['mine'], head_stayed: 'head-moved', members: [{ ...member, returned }],
  });
  assert.match(home, /Member ..\/two: changed by someone else since, and left so: theirs/);
  assert.match(home, /Member ..\/two: HEAD would stay detached at a{12}: its branch has moved since \(main\)/);
  assert.match(home, /changed since; those bytes are in the backup: mine/);
  assert.match(home, /HEAD and index would stay as they are: HEAD has moved since/);
  const rewound = await shownOf('Undo', { mode: 'code', code: { files: [], insertions: 0, deletions: 0, members: [member] } });
  assert.doesNotMatch(rewound, /would then be/);
  assert.match(rewound, /Member ..\/two: 1 path would be written, 1 removed/);
});

await check('live: an undo says which swap it would take back, and when that was', async () => {
  const level = { operation: 'restore', snapshot_id: 's_20260228_153012_abcdef', at: '2026-02-28T15:30:12Z' };
  const said = await shownOf('Undo', { direction: 'undo', mode: 'present', level, changes: none });
  assert.match(said, /It would undo restore from s_20260228_153012_abcdef, made .*2026/);
  const hop = await shownOf('Redo', { direction: 'redo', mode: 'past', level: { ...level, operation: 'travel' }, changes: none });
  assert.match(hop, /It would redo travel to s_20260228_153012_abcdef, made /);
});

await check('names that differ only in what is not seen look different', async () => {
  const names = ['a b', 'a  b', ' a b', 'a b ', 'a\nb', 'a\tb', 'a\u00a0b', 'a\u200bb'];
  const looks = ['a b', 'a\\u{20} b', '\\u{20}a b', 'a b\\u{20}', 'a\\u{a}b', 'a\\u{9}b', 'a\\u{a0}b', 'a\\u{200b}b'];
  const said = await shownOf('Restore all of it', { changes: { written: names, removed: [] } });
  for (const look of looks) assert.ok(said.includes('write ' + look + '\n'), look + ' is not in ' + said);
  const file = variant('names', (data) => {
    data.entries = data.entries.filter((entry) => entry.kind === 'snapshot').slice(0, 1);
    data.entries[0].paths = names.map((path) => ({ path, status: 'A', old_mode: null, new_mode: '100644', same: [1, 2, 3], lines: { what: 'binary', lines: [], next: null } }));
    data.entries[0].total = names.length;
    data.entries[0].title = 'a\tb';
  });
  const { page, wrong } = await open(file);
  await page.waitForSelector('details');
  const shown = await page.evaluate(() => [...document.querySelectorAll('summary bdi')].map((name) => name.textContent));
  assert.deepEqual(shown, looks);
  assert.equal(await page.evaluate(() => document.querySelector('.row bdi').textContent), 'a\\u{9}b');
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('live: an alert is taken away when what it told of works again, and is said once', async () => {
  const { page, wrong } = await open(address, { allowed: ownApi });
  const alert = () => page.evaluate(() => document.querySelector('#alert').textContent);
  await page.evaluate(() => {
    window.said = 0;
    new MutationObserver(() => { window.said += 1; }).observe(document.querySelector('#alert'), { childList: true });
    window.answers = { named: { ok: false, error: { message: 'gone for now' } }, search: { ok: true, truncated: false, hits: [
      { path: 'a', line: 1, text: 'x', at: '2026-02-28T15:30:12Z', first_snapshot: 's', last_snapshot: 's' } ] } };
  });
  await page.select('#where', 'content');
  await page.focus('#search');
  await page.keyboard.type('x');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.hits button');
  for (let times = 0; times < 2; times += 1) {
    await page.evaluate(() => document.querySelector('.hits button').click());
    await page.waitForFunction(() => document.querySelector('#alert').textContent === 'gone for now');
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.equal(await page.evaluate(() => window.said), 1);
  await page.focus('#list');
  await page.keyboard.press('ArrowDown');
  assert.equal(await alert(), '');
  // So is what the list could not be read for.
  await page.evaluate(() => { window.answers = { entries: { ok: false, error: { message: 'moved away' } } }; });
  await page.select('#kind', 'prompt');
  await page.waitForFunction(() => document.querySelector('#alert').textContent === 'moved away');
  await page.evaluate(() => { window.answers = {}; });
  await page.select('#kind', '');
  await page.waitForFunction(() => document.querySelector('#alert').textContent === '');
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('a long prompt is a heading in short, and stands below in full', async () => {
  const long = 'word '.repeat(3000);
  const prompt = { checkpoint_id: 3, title: long };
  const entry = { kind: 'prompt', id: 's_20260228_153012_abcdef', at: '2026-02-28T15:30:12Z', title: long, session_id: 'x', checkpoint_id: 3, labels: [], files: null, prompt };
  const answers = { entries: { ok: true, entries: [entry], more: false, notices: [] }, entry: { ok: true, entry, text: long, paths: [], total: 0, key: 'x' } };
  const { page, wrong } = await open(address, { allowed: ownApi, answers });
  await page.waitForFunction(() => !document.querySelector('#prompt').hidden);
  const [heading, text] = await page.evaluate(() => [document.querySelector('#detail-title').textContent, document.querySelector('#text').textContent]);
  assert.ok(heading.length <= 200 && heading.endsWith('\u2026'), heading);
  assert.equal(text, long);
  await page.evaluate(() => [...document.querySelectorAll('button')].find((one) => one.textContent === 'Rewind to the prompt').click());
  const title = await page.evaluate(() => document.querySelector('#dialog-title').textContent);
  assert.ok(title.startsWith('Rewind to checkpoint 3: word') && title.length < 240, title);
  assert.deepEqual(wrong, []);
  await page.close();
});

await check('stored: entries of one second are compared from the older to the newer, and names are read apart', async () => {
  const second = variant('second', (data) => {
    const [newer, older] = data.entries.filter((entry) => entry.kind === 'snapshot');
    older.at = newer.at;
    newer.labels = ['my-label'];
    newer.claimed_by = 'Somebody';
    newer.title = 'a title';
    data.entries = [newer, older];
  });
  const { page, wrong } = await snapshots(second, () => false);
  const [newer, older] = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).entries.map((entry) => entry.id));
  for (const keys of [['Home', 'm', 'End', 'c'], ['Home', 'm', 'End', 'm', 'Home', 'c']]) {
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForFunction((title) => document.querySelector('#detail-title').textContent === title, {}, older + ' compared with ' + newer);
    // No mark again.
    for (const key of ['Escape', 'Home', 'm']) await page.keyboard.press(key);
    if (keys.length > 4) for (const key of ['End', 'm']) await page.keyboard.press(key);
  }
  const row = await page.evaluate(() => document.querySelector('.row').innerText);
  assert.match(row, /^snapshot a title my-label claimed by Somebody/);
  assert.deepEqual(wrong, []);
  await page.close();
});

// Every action, by keys alone; what it leads to is looked at light and dark, at three sizes.
await check('live: every action works by keys alone, and axe finds nothing on the way', async () => {
  const { page, wrong } = await open(address, { allowed: ownApi });
  let looked = 0;
  const audit = async (state) => {
    for (const scheme of ['light', 'dark']) {
      for (const [width, height] of SIZES) {
        await lookAs(page, scheme, width, height);
        const { violations } = await axe(page);
        assert.deepEqual(violations, [], `${state}, ${scheme}, ${width}`);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, `${state}, ${width}`);
        if (pictures && scheme === 'light') await page.screenshot({ path: `${pictures}/${state}-${width}.png` });
        looked += 1;
      }
    }
  };
  const { active, tab, press, dialog, leave } = byKeys(page);
  const yes = async (title) => {
    await press('Yes, do it');
    await page.waitForFunction((title) => document.querySelector('#status').textContent.startsWith('done: ' + title), {}, title)
      .catch(async () => assert.fail('not done: ' + title + ' but ' + await page.evaluate(() => document.body.innerText)));
    // What it has to say beside that.
    if (await page.evaluate(() => document.querySelector('dialog').open)) await leave();
  };
  const detail = (pattern) => page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector('#detail').innerText), {}, pattern)
    .catch(async () => assert.fail(pattern + ' is not in ' + await page.evaluate(() => document.querySelector('#detail').innerText)));
  const chooses = async (id, value) => {
    await tab((at) => at.id === id, id);
    for (let tries = 0; tries < 10 && await page.evaluate((id) => document.getElementById(id).value, id) !== value; tries += 1) {
      await page.keyboard.press('ArrowDown');
    }
    assert.equal(await page.evaluate((id) => document.getElementById(id).value, id), value);
  };
  const toList = async () => {
    await page.keyboard.press('Escape');
    await tab((at) => at.list, 'the list');
  };
  // The newest snapshot, the end of what a kind is chosen for.
  const at = async (kind, key) => {
    await tab((at) => at.id === 'kind', 'kind');
    await page.keyboard.press('Home');
    await chooses('kind', kind);
    await page.waitForFunction((kind) => {
      const rows = [...document.querySelectorAll('.row')];
      return rows.length > 0 && rows.every((row) => row.firstChild.textContent.startsWith(kind));
    }, {}, kind);
    await toList();
    await page.keyboard.press(key);
  };

  // Look, compare, search.
  await at('snapshot', 'Home');
  await detail('added <b>hostile.html');
  await page.keyboard.press('Enter');
  assert.equal((await active()).id, 'detail');
  await audit('entry');
  await toList();
  for (const key of ['m', 'End', 'm', 'c']) await page.keyboard.press(key);
  await detail('compared with [^]*added <b>hostile.html');
  await audit('compared');
  await toList();
  await page.keyboard.press('p');
  await detail('compared with the present[^]*a.txt');
  await audit('present');
  await toList();
  await page.keyboard.press('/');
  assert.equal((await active()).id, 'search');
  await page.keyboard.type('two words');
  await page.keyboard.press('Tab');
  await chooses('where', 'content');
  await page.keyboard.down('Shift');
  await page.keyboard.press('Tab');
  await page.keyboard.up('Shift');
  await page.keyboard.press('Enter');
  await detail('1 hit for [^]*a.txt:2[^]*two words');
  await audit('hits');
  await press('a.txt:2');
  await detail('snapshot \\(manual\\)');

  // Change something: each is shown first, and No is where the keys are.
  await at('snapshot', 'End');
  await press('Travel here');
  await dialog('would then be in the past');
  await audit('travel');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'nothing was done');
  await press('Travel here');
  await dialog('would then be in the past');
  await yes('Travel');
  await page.waitForFunction(() => document.querySelector('#place').className === 'past');
  await audit('past');
  await press('Return to the present');
  await dialog('would then be in the present');
  await yes('Return');
  await page.waitForFunction(() => document.querySelector('#place').className === 'present');

  await at('snapshot', 'Home');
  await press('Label');
  assert.equal((await active()).name, 'name');
  await audit('label');
  await page.keyboard.type('by-keys');
  await page.keyboard.press('Enter');
  await dialog('by-keys[^]*is given to');
  await audit('labelled');
  await yes('Label');
  await page.waitForFunction(() => document.querySelector('.row').textContent.includes('by-keys'));

  await press('Report an issue');
  for (const text of ['walked by keys', 'none went wrong', 'all are told']) {
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
  }
  await audit('report');
  await press('Show what it would do');
  await dialog('walked by keys[^]*none went wrong[^]*all are told');
  await audit('reported');
  await yes('Report');

  await at('snapshot', 'End');
  await press('Restore all of it');
  await dialog('paths? would be written, \\d+ removed');
  await audit('restore');
  await yes('Restore all');
  await press('Undo');
  await dialog('would be written');
  await audit('undo');
  await yes('Undo');
  await press('Redo');
  await dialog('would be written');
  await yes('Redo');
  await press('Undo');
  await dialog('would be written');
  await yes('Undo');
  await at('snapshot', 'Home');
  await press('Restore this path');
  await dialog('Nothing differs', 'Close');
  await leave();
  await at('turn-end', 'End');
  await detail('modified a.txt');
  await press('Restore this hunk');
  await dialog('1 path would be written[^]*two words, again[^]*two words');
  await audit('hunk');
  await yes('Restore a hunk of a.txt');
  await press('Undo');
  await dialog('would be written');
  await yes('Undo');

  await at('prompt', 'End');
  await press('Rewind to the prompt');
  await dialog('Rewind to checkpoint 0[^]*What goes back');
  await audit('rewind');
  await press('The files');
  await dialog('Files: \\d+ paths? would go back');
  await audit('rewound');
  await yes('Rewind');
  await press('Undo');
  await dialog('would be written');
  await yes('Undo');
  await press('Open in a directory');
  await dialog('It would be laid out in /');
  await audit('open');
  await press('Yes, do it');
  await dialog("Done: Open[^]* until 'tw close' removes it", 'Close');
  await audit('opened');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'list');
  // What is refused says why.
  await press('Report an issue');
  await press('Show what it would do');
  await dialog('symptom');
  await press('Yes, do it');
  await page.waitForFunction(() => document.activeElement.textContent === 'Close');
  await audit('refused');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => !document.querySelector('dialog').open);

  assert.ok(looked >= 100, String(looked));
  assert.deepEqual(wrong, []);
  await page.close();
});

await browser.close();
process.exit(failed ? 1 : 0);
