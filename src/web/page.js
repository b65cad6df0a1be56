'use strict';
// The page of `tw web`. All text is put in as text. Whatever it shows came from somebody else.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);
  const [list, rows, detail, dialog] = ['list', 'rows', 'detail', 'dialog'].map($);

  // ---- Text

  // What moves a terminal, turns the direction of text, or is not seen at all.
  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
  // Of a name also what ends a line, and spaces that are seen as one, or as none.
  const OF_NAMES = new RegExp(UNSEEN.source + '|[\\t\\n\\u00a0\\u2000-\\u200a\\u202f\\u205f\\u3000]|^ | (?= )| $', 'gu');
  function put(parent, text, unseen = UNSEEN) {
    let from = 0;
    for (const found of String(text).matchAll(unseen)) {
      parent.append(text.slice(from, found.index));
      const shown = document.createElement('span');
      shown.className = 'ctl';
      shown.textContent = '\\u{' + found[0].codePointAt(0).toString(16) + '}';
      parent.append(shown);
      from = found.index + found[0].length;
    }
    parent.append(String(text).slice(from));
    return parent;
  }
  function make(name, className, text, unseen) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined && text !== null) put(made, text, unseen);
    return made;
  }
  const named = (path) => make('bdi', 'mono', path, OF_NAMES);
  function button(text, click, unseen) {
    const made = make('button', '', text, unseen);
    made.type = 'button';
    made.addEventListener('click', click);
    return made;
  }
  // A heading and a dialog are named by it: nobody wants thousands of characters of a prompt there.
  const headline = (text, most = 200) => { const all = [...text]; return all.length > most ? all.slice(0, most - 1).join('') + '\u2026' : text; };
  const many = (number, one) => number + ' ' + one + (number === 1 ? '' : 's');
  const say = (text) => { $('status').textContent = text; };
  // What is wrong, by what found it: it is taken away when that works again, and not said twice.
  const wrong = new Map();
  function alarm(whose, text) {
    if ((wrong.get(whose) || '') === text) return;
    if (text) wrong.set(whose, text); else wrong.delete(whose);
    const place = $('alert');
    place.replaceChildren();
    put(place, [...new Set(wrong.values())].join('; '));
  }
  const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  // In the list, where room is short, without what the year and the second say of this year.
  const brief = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' });
  const short = (date) => (date.getFullYear() === new Date().getFullYear() ? brief : clock).format(date);
  function time(at, shown = (date) => clock.format(date)) {
    const made = make('time', '', Number.isNaN(Date.parse(at)) ? at : shown(new Date(at)));
    made.dateTime = at;
    return made;
  }

  // ---- Where entries come from: the server, or this very file

  const key = (entry) => ({
    kind: entry.kind, id: entry.id, at: entry.at, session_id: entry.session_id, checkpoint_id: entry.checkpoint_id,
  });
  const same = (a, b) => Boolean(a && b) && JSON.stringify(key(a)) === JSON.stringify(key(b));

  // Two snapshots that are compared stand where an entry does.
  const subject = (entry) => (entry.pair ? { pair: entry.pair } : { entry: key(entry) });

  // What is asked for is named by what was shown of it: by then it may be another.
  const shown = (file) => ({ path: file.path, key: file.key });

  function live() {
    const given = new URLSearchParams(location.search).get('token');
    if (given) {
      sessionStorage.setItem('tw-token', given);
      history.replaceState(null, '', '/');
    }
    const token = sessionStorage.getItem('tw-token');
    async function ask(name, body, signal) {
      let answer;
      try {
        answer = await fetch('/api/' + name, {
          method: 'POST', signal, cache: 'no-store', body: JSON.stringify(body),
          // Without it the browser would not say that the page itself asks.
          referrerPolicy: 'same-origin',
          headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
        });
      } catch (error) {
        if (signal && signal.aborted) throw error;
        throw new Error("the server has ended: start 'tw web' again");
      }
      const said = answer.headers.get('Content-Type') === 'application/json' ? await answer.json() : null;
      if (!said) throw new Error(await answer.text());
      return said;
    }
    async function must(name, body, signal) {
      const said = await ask(name, body, signal);
      if (!said.ok) throw new Error(said.error.message + (said.error.hint ? ' (' + said.error.hint + ')' : ''));
      return said;
    }
    return {
      ask,
      entries: (after, asked, signal) => must('entries', { ...asked, after: after && key(after) }, signal),
      entry: (entry, from, key, signal) => must('entry', { ...subject(entry), from, key }, signal),
      lines: (entry, file, from, signal) => must('lines', { ...subject(entry), change: shown(file), from }, signal),
      search: (text, place, signal) => must('search', { text, place }, signal),
      named: (snapshot_id, signal) => must('named', { snapshot_id }, signal),
      place: () => must('place', {}),
    };
  }

  function stored() {
    const wanted = (asked) => data.entries.filter((entry) => {
      if (asked.kinds.length && !asked.kinds.includes(entry.kind)) return false;
      if (!asked.grep) return true;
      const texts = [entry.title, entry.text, entry.id, ...entry.labels, ...(entry.paths || []).map((file) => file.path)];
      const any = asked.grep.toLowerCase() === asked.grep;
      return texts.some((text) => (any ? text.toLowerCase() : text).includes(asked.grep));
    });
    return {
      entries: async (after, asked) => ({ entries: after ? [] : wanted(asked), more: false, notices: data.notices }),
      entry: async (entry) => (entry.pair ? composed(...entry.sides) : { entry, text: entry.text, paths: entry.paths, total: entry.total }),
      lines: async (entry, file) => file.lines,
    };
  }

  // What a file of entries knows of two of them: it follows what the entries changed from the one to the other, in either direction.
  // What no chain of entries leads to cannot be compared here, and that is said.
  function composed(from, to) {
    const unknown = (why) => ({ text: '', paths: null, why: why + " 'tw diff " + from.id + ' ' + to.id + "' compares them." });
    if (from.trees.own === null || to.trees.own === null) return unknown('The files of one of them are not known.');
    const ways = new Map();
    const lead = (at, step) => { if (ways.has(at)) ways.get(at).push(step); else ways.set(at, [step]); };
    const held = new Map();
    for (const entry of data.entries) {
      for (const file of entry.paths || []) held.set([...file.same, file.old_mode, file.new_mode].join(), file);
      // Of a long one not all paths are here.
      if (!entry.trees.between || !entry.paths || entry.paths.length < entry.total) continue;
      const [old, now] = entry.trees.between;
      lead(old, { entry, to: now, back: false });
      lead(now, { entry, to: old, back: true });
    }
    const came = new Map([[from.trees.own, null]]);
    const next = [from.trees.own];
    for (const at of next) {
      if (at === to.trees.own) break;
      for (const step of ways.get(at) || []) {
        if (!came.has(step.to)) { came.set(step.to, { ...step, from: at }); next.push(step.to); }
      }
    }
    if (!came.has(to.trees.own)) return unknown('What lies between them is not in this file.');
    const chain = [];
    for (let at = to.trees.own; came.get(at); at = came.get(at).from) chain.unshift(came.get(at));
    const changed = new Map();
    for (const { entry, back } of chain) {
      for (const file of entry.paths) {
        const [path, ...contents] = file.same;
        const ends = [[contents[0], file.old_mode], [contents[1], file.new_mode]];
        if (back) ends.reverse();
        if (changed.has(path)) changed.get(path).end = ends[1];
        else changed.set(path, { path, name: file.path, begin: ends[0], end: ends[1] });
      }
    }
    const paths = [];
    for (const { path, name, begin, end } of changed.values()) {
      if (begin.join() === end.join()) continue;
      const [onward, backward] = [[begin, end], [end, begin]].map(([a, b]) => held.get([path, a[0], b[0], a[1], b[1]].join()));
      const lines = begin[0] === end[0] ? { what: 'mode' } : onward ? onward.lines : backward ? turned(backward.lines) : { what: 'in-steps' };
      const type = (mode) => (mode || '').slice(0, 3);
      const status = !begin[1] ? 'A' : !end[1] ? 'D' : type(begin[1]) !== type(end[1]) ? 'T' : 'M';
      paths.push({ path: name, status, old_mode: begin[1], new_mode: end[1], lines });
    }
    paths.sort((a, b) => (a.path < b.path ? -1 : 1));
    return { text: '', paths, total: paths.length, others: [] };
  }

  // The same lines, from the new side to the old one.
  function turned(told) {
    if (told.what !== 'lines') return told;
    const made = [];
    let [gone, come] = [[], []];
    let last = made;
    const flush = () => { made.push(...gone, ...come); [gone, come] = [[], []]; };
    for (const [sign, old, now, text, inks] of told.lines) {
      if (sign === '+') { last = gone; gone.push(['-', now, null, text, inks]); continue; }
      if (sign === '-') { last = come; come.push(['+', null, old, text, inks]); continue; }
      // It belongs to the line before it.
      if (sign === '\\') { last.push([sign, null, null, text]); continue; }
      flush();
      last = made;
      made.push([sign, now, old, sign === '@' ? text.replace(/^@@ -(\S+) \+(\S+) @@/, '@@ -$2 +$1 @@') : text, inks]);
    }
    flush();
    return { ...told, lines: made };
  }

  const source = data.live ? live() : stored();

  // ---- The timeline: only the rows that are seen are there

  let entries = [];
  let more = true;
  let loading = null;
  let selected = -1;
  // One or two, to be compared.
  let marks = [];
  const isMarked = (entry) => marks.some((one) => same(one, entry));
  let place = null;
  let rowHeight = 54;
  const asked = { grep: null, kinds: [] };

  async function load() {
    if (loading || !more) return;
    const stop = new AbortController();
    loading = stop;
    try {
      const page = await source.entries(entries[entries.length - 1], asked, stop.signal);
      if (loading !== stop) return;
      entries = entries.concat(page.entries);
      more = page.more;
      if (data.limit && entries.length >= data.limit) {
        entries.length = data.limit;
        more = false;
      }
      alarm('list', page.notices.join('; '));
      say(entries.length ? entries.length + (entries.length === 1 ? ' entry' : ' entries') + (more ? ', and older ones' : '') : 'nothing that was asked for');
    } catch (error) {
      if (!stop.signal.aborted) { alarm('list', error.message); more = false; }
    } finally {
      if (loading === stop) loading = null;
    }
    draw();
    if (selected < 0 && entries.length) select(0);
  }

  function reload() {
    if (loading) loading.abort();
    loading = null;
    entries = [];
    more = true;
    selected = -1;
    list.scrollTop = 0;
    $('newer').replaceChildren();
    draw();
    return load();
  }

  function counts(entry) {
    const made = make('span');
    if (entry.files === null) return made;
    if (!entry.files) { made.append('no file'); return made; }
    made.append(many(entry.files, 'file'));
    if (entry.insertions !== null) made.append(' ', make('span', 'plus', '+' + entry.insertions), ' ', make('span', 'minus', '\u2212' + entry.deletions));
    return made;
  }

  function row(at) {
    const entry = entries[at];
    const made = make('div', 'row' + (entry.session_id && entry.kind !== 'prompt' ? ' inside' : ''));
    made.id = 'row-' + at;
    made.setAttribute('role', 'option');
    made.setAttribute('aria-selected', at === selected);
    made.setAttribute('aria-posinset', at + 1);
    made.setAttribute('aria-setsize', more ? -1 : entries.length);
    made.style.top = at * rowHeight + 'px';
    const first = make('div');
    first.append(make('span', 'badge ' + entry.kind, entry.kind), ' ', make('bdi', '', entry.title || entry.id, OF_NAMES));
    // Spaces, since what is read aloud is the text.
    for (const label of entry.labels) first.append(' ', make('span', 'label', label));
    if (entry.claimed_by) first.append(' ', make('span', 'label', 'claimed by ' + entry.claimed_by));
    const second = make('div', 'quiet');
    second.append(time(entry.at, short), ' ');
    if (entry.agent) second.append('\u00b7 ', put(make('span'), entry.agent), ' ');
    if (isMarked(entry)) second.append('\u00b7 marked ');
    const changed = counts(entry);
    if (changed.hasChildNodes()) second.append('\u00b7 ', changed);
    made.append(first, second);
    made.addEventListener('click', () => { select(at); list.focus(); });
    return made;
  }

  function draw() {
    const probe = rows.firstElementChild;
    if (probe && probe.offsetHeight) rowHeight = probe.offsetHeight;
    rows.style.height = entries.length * rowHeight + 'px';
    const from = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 8);
    const to = Math.min(entries.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 8);
    const seen = [];
    for (let at = from; at < to; at += 1) seen.push(row(at));
    // The selected one is there even when it is not seen: it is what a screen reader is told of.
    if (selected >= 0 && selected < entries.length && (selected < from || selected >= to)) seen.push(row(selected));
    rows.replaceChildren(...seen);
    if (selected >= 0) list.setAttribute('aria-activedescendant', 'row-' + selected);
    else list.removeAttribute('aria-activedescendant');
    if (more && entries.length && to > entries.length - 30) load();
  }

  let drawing = false;
  function drawSoon() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; draw(); });
  }
  list.addEventListener('scroll', drawSoon, { passive: true });
  addEventListener('resize', drawSoon);

  function select(at) {
    if (!entries.length) return;
    selected = Math.max(0, Math.min(entries.length - 1, at));
    const top = selected * rowHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight - list.clientHeight;
    draw();
    open(entries[selected]);
  }

  list.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(list.clientHeight / rowHeight) - 1);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) select(selected + moves[event.key]);
    else if (event.key === 'Enter') detail.focus();
    else if (event.key === '/') $('search').focus();
    else if (event.key === 'm') mark();
    else if (event.key === 'c') compareMarked();
    else if (event.key === 'p' && data.live) comparePresent(entries[selected]);
    else return;
    event.preventDefault();
  });
  addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || dialog.open) return;
    list.focus();
  });

  // An issue has no files.
  const hasFiles = (entry) => Boolean(entry) && !entry.pair && entry.kind !== 'issue';
  function mark() {
    const entry = entries[selected];
    if (!hasFiles(entry)) { say('an issue has no files to compare'); return; }
    marks = isMarked(entry) ? marks.filter((one) => !same(one, entry)) : [...marks.slice(-1), entry];
    say(marks.length ? 'marked ' + marks.map((one) => one.id).join(' and ') + ': c compares' : 'no entry is marked');
    draw();
    buttons(entry);
  }

  function compareMarked() {
    const entry = entries[selected];
    const both = marks.length === 2 ? marks : marks.length && hasFiles(entry) && !same(marks[0], entry) ? [marks[0], entry] : null;
    if (!both) { say('mark one or two with m first, then c compares'); return; }
    // From the older one to the newer one. Within a second the list knows which is which.
    const [a, b] = both;
    const place = (entry) => entries.findIndex((one) => same(one, entry));
    const isNewer = Date.parse(a.at) === Date.parse(b.at) ? place(a) < place(b) : Date.parse(a.at) > Date.parse(b.at);
    if (isNewer) compare(b, a); else compare(a, b);
  }
  function comparePresent(entry) {
    if (!hasFiles(entry)) { say('an issue has no files to compare'); return; }
    compare(entry, { id: 'present', title: 'the present' });
  }

  function compare(from, to) {
    const told = (side) => (side.id === 'present' ? side.title : side.id);
    const entry = { pair: [from.id, to.id], sides: [from, to], kind: 'comparison', title: from.id + ' compared with ' + told(to), id: '', at: '', labels: [] };
    open(entry);
    say(entry.title);
    detail.focus();
  }

  // What a search finds in files, changes, prompts and issues stands where an entry does; each hit leads to its snapshot.
  async function search(text, where) {
    if (reading) reading.abort();
    const stop = new AbortController();
    reading = stop;
    clearTimeout(waiting);
    const heading = (title) => { $('detail-title').replaceChildren(); put($('detail-title'), title); };
    heading('Searching \u2026');
    say('searching');
    for (const id of ['facts', 'actions', 'files']) $(id).replaceChildren();
    $('prompt').hidden = true;
    try {
      const found = await source.search(text, where, stop.signal);
      const title = (found.hits.length || 'no') + (found.hits.length === 1 ? ' hit' : ' hits') + ' for \u201c' + text + '\u201d' + (found.truncated ? ', and there are more' : '');
      heading(title);
      say(title);
      const all = make('ol', 'hits');
      for (const hit of found.hits) {
        const item = make('li');
        const what = hit.path || (hit.issue_id ? 'issue ' + hit.issue_id : 'prompt' + (hit.checkpoint === null ? '' : ' ' + hit.checkpoint));
        item.append(button((hit.change ? { added: '+ ', removed: '\u2212 ' }[hit.change] || '' : '') + what + (hit.line ? ':' + hit.line : ''), () => lead(hit.last_snapshot), OF_NAMES), ' ', time(hit.at));
        item.append(make('code', '', hit.text || (hit.too_many ? 'too many lines match' : hit.binary ? 'a binary file matches' : '')));
        const span = hit.first_snapshot === hit.last_snapshot ? hit.last_snapshot : hit.first_snapshot + ' to ' + hit.last_snapshot;
        item.append(make('span', 'quiet', span + (hit.prompt ? ', asked: ' + hit.prompt : '')));
        all.append(item);
      }
      $('files').replaceChildren(all);
      detail.focus();
    } catch (error) {
      if (!stop.signal.aborted) heading(error.message);
    }
  }

  async function lead(id) {
    try {
      const told = await source.named(id);
      open(told.entry);
      detail.focus();
    } catch (error) {
      alarm('entry', error.message);
    }
  }

  // ---- One entry

  let reading = null;
  // A list is walked fast: what is passed by is not read.
  let waiting = 0;
  function open(entry) {
    alarm('entry', '');
    if (reading) reading.abort();
    const stop = new AbortController();
    reading = stop;
    $('detail-title').replaceChildren();
    put($('detail-title'), headline(entry.title || entry.id), OF_NAMES);
    facts(entry);
    buttons(entry);
    $('files').replaceChildren();
    $('prompt').hidden = true;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      try {
        const told = await source.entry(entry, 0, undefined, stop.signal);
        if (!stop.signal.aborted) fill(entry, told, stop.signal);
      } catch (error) {
        if (!stop.signal.aborted) $('files').replaceChildren(make('p', 'note-line', error.message));
      }
    }, data.live ? 60 : 0);
  }

  function facts(entry) {
    const all = [];
    const fact = (name, value) => {
      if (value === null || value === undefined || value === '') return;
      const shown = make('dd', 'mono');
      if (value instanceof Node) shown.append(value); else put(shown, value);
      all.push(make('dt', '', name), shown);
    };
    if (entry.pair) {
      for (const [name, side] of [['from', entry.sides[0]], ['to', entry.sides[1]]]) {
        const shown = put(make('span'), side.title || side.id);
        if (side.at) shown.append(' \u00b7 ', time(side.at));
        fact(name, shown);
      }
      $('facts').replaceChildren(...all);
      return;
    }
    fact('kind', entry.kind + (entry.operation && entry.operation !== entry.kind ? ' (' + entry.operation + ')' : ''));
    fact('id', entry.id);
    fact('at', time(entry.at));
    fact('session', entry.session_id && entry.session_id + (entry.agent ? ' (' + entry.agent + ')' : ''));
    fact('checkpoint', entry.checkpoint_id);
    fact('labels', entry.labels.join(', '));
    fact('status', entry.status);
    fact('claimed by', entry.claimed_by);
    fact('taken in', entry.taken_in === 'past' ? 'past' : null);
    $('facts').replaceChildren(...all);
  }

  function fill(entry, told, signal) {
    if (told.text && told.text.trim()) {
      $('prompt-title').textContent = entry.kind === 'issue' ? 'Issue' : entry.kind === 'snapshot' ? 'Task' : 'Prompt';
      $('text').replaceChildren();
      put($('text'), told.text);
      $('prompt').hidden = false;
    }
    const files = $('files');
    if (!told.paths) {
      files.replaceChildren(make('p', 'note-line', told.why ? told.why : entry.kind === 'issue' ? 'An issue changes no file.' : 'It is not known what it changed, or not yet.'));
      return;
    }
    files.replaceChildren(make('h3', 'quiet', many(told.total, 'path') + ' changed'));
    addFiles(entry, told, 0, signal);
    if (told.others && told.others.length) {
      const all = make('ul', 'others');
      for (const one of told.others.slice(0, 100)) all.append(make('li', '', other(one), OF_NAMES));
      if (told.others.length > 100) all.append(make('li', '', told.others.length - 100 + ' more'));
      files.append(make('h3', 'quiet', 'Beyond the content of files'), all);
    }
  }

  // In the words of 'tw diff'.
  function other(one) {
    const word = { mode: 'mode', 'empty-directory': 'empty directory', access: 'owner or attributes', index: 'index', head: 'HEAD', operation: 'operation' }[one.kind] || one.kind;
    const what = word + (one.path ? ' ' + one.path : '');
    if (one.kind === 'empty-directory') return what + (one.old === null ? ': added' : ': removed');
    if (one.kind === 'access') return what;
    return what + ': ' + (one.old === null ? 'none' : one.old) + ' to ' + (one.new === null ? 'none' : one.new);
  }

  function addFiles(entry, told, from, signal) {
    told.paths.forEach((file, at) => $('files').append(fileOf(entry, file, from + at < 8, signal)));
    const next = from + told.paths.length;
    if (next >= told.total) return;
    if (!data.live) {
      $('files').append(make('p', 'note-line', many(told.total - next, 'more path') + ': not in this file'));
      return;
    }
    const on = button(many(told.total - next, 'more path'), async () => {
      try {
        const rest = await source.entry(entry, next, told.key, signal);
        on.remove();
        addFiles(entry, rest, next, signal);
      } catch (error) {
        if (!signal.aborted) alarm('entry', error.message);
      }
    });
    $('files').append(on);
  }

  const WORDS = { A: 'added', M: 'modified', D: 'deleted', T: 'type changed' };
  function fileOf(entry, file, isOpen, signal) {
    const made = make('details', 'file');
    const summary = make('summary');
    summary.append(make('strong', '', WORDS[file.status] || file.status), ' ', named(file.path));
    const mode = file.old_mode && file.new_mode && file.old_mode !== file.new_mode;
    if (mode) summary.append(' ', make('span', 'quiet', 'mode ' + file.old_mode + ' to ' + file.new_mode));
    made.append(summary);
    let isFilled = false;
    made.addEventListener('toggle', async () => {
      if (!made.open || isFilled) return;
      isFilled = true;
      if (data.allow_changes && !entry.pair && entry.kind !== 'issue') {
        const actions = make('div', 'actions');
        const restore = button('Restore this path', () => propose('Restore ' + file.path, {
          action: 'restore', snapshot_id: entry.id, chosen: { entry: key(entry), change: shown(file) },
        }));
        restore.append(make('span', 'unseen', ' ' + file.path));
        actions.append(restore);
        made.append(actions);
      }
      const lines = make('div', 'lines');
      made.append(lines);
      await fillLines(entry, file, lines, 0, signal);
    });
    made.open = isOpen;
    return made;
  }

  const NOT_LINES = {
    mode: 'Only the mode differs.', binary: 'This is not text.', 'too-large': "Too large to be laid out here: 'tw diff -p' does it.",
    missing: 'The bytes are not here.',
    'in-steps': 'It changed in several steps. This file has the lines of each of them, and not of all together.', 'left-out': 'Left out: the page would have become too large.',
  };
  async function fillLines(entry, file, place, from, signal, hunks = 0) {
    let told;
    try {
      told = await source.lines(entry, file, from, signal);
    } catch (error) {
      if (!signal.aborted) place.append(make('p', 'note-line', error.message));
      return;
    }
    if (signal.aborted) return;
    if (told.what !== 'lines') {
      place.append(make('p', 'note-line', NOT_LINES[told.what] || told.what));
      return;
    }
    if (!told.lines.length && !from) place.append(make('p', 'note-line', 'Empty.'));
    let hunk = hunks;
    const restored = data.allow_changes && !entry.pair && entry.kind !== 'issue' && file.status === 'M';
    place.append(...laidOut(told.lines, (line) => {
      const made = lineOf(line);
      if (line[0] === '@' && restored) made.append(hunkButton(entry, file, hunk, line[3]));
      if (line[0] === '@') hunk += 1;
      return made;
    }));
    if (told.next === null) return;
    if (!data.live) {
      place.append(make('p', 'note-line', 'More lines are not in this file.'));
      return;
    }
    const on = button('More lines', () => { on.remove(); fillLines(entry, file, place, told.next, signal, hunk); });
    place.append(on);
  }

  function hunkButton(entry, file, hunk, head) {
    const made = button('Restore this hunk', () => propose('Restore a hunk of ' + file.path, {
      action: 'restore', snapshot_id: entry.id, chosen: { entry: key(entry), change: shown(file), hunk },
    }));
    made.append(make('span', 'unseen', ' of ' + file.path + ' ' + head));
    return made;
  }

  function laidOut(lines, other = lineOf) {
    const made = [];
    for (let at = 0; at < lines.length;) {
      const run = (sign) => {
        const begin = at;
        while (at < lines.length && lines[at][0] === sign) at += 1;
        return lines.slice(begin, at);
      };
      const gone = run('-');
      const come = run('+');
      const pairs = gone.length === come.length ? gone.map((line, n) => words(line[3], come[n][3])) : [];
      gone.forEach((line, n) => made.push(lineOf(line, pairs[n] && pairs[n][0])));
      come.forEach((line, n) => made.push(lineOf(line, pairs[n] && pairs[n][1])));
      if (!gone.length && !come.length) { made.push(other(lines[at])); at += 1; }
    }
    return made;
  }

  // What two lines do not have alike: from the first word that differs to the last.
  function words(a, b) {
    const cut = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) || [];
    const [old, now] = [cut(a), cut(b)];
    let start = 0;
    while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
    let end = 0;
    while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
    if (!start && !end) return [null, null];
    const parts = (all) => [all.slice(0, start), all.slice(start, all.length - end), all.slice(all.length - end)].map((part) => part.join(''));
    return [parts(old), parts(now)];
  }

  function lineOf([sign, old, now, text, inks], parts) {
    if (sign === '@') return make('div', 'l hunk', text);
    if (sign === '\\') return make('div', 'l note', text);
    const made = make(sign === '+' ? 'ins' : sign === '-' ? 'del' : 'div', 'l');
    made.append(make('span', 'n old', old === null ? '' : old), make('span', 'n', now === null ? '' : now), make('span', 's', sign));
    const shown = make('span', 't');
    const runs = inkRuns(text, inks);
    if (parts) {
      coloured(shown, text, runs, 0, parts[0].length);
      // What changed stands out by itself, as on the full screen.
      if (parts[1]) shown.append(make('mark', '', parts[1]));
      coloured(shown, text, runs, parts[0].length + parts[1].length, text.length);
    } else {
      coloured(shown, text, runs, 0, text.length);
    }
    made.append(shown);
    return made;
  }

  // What the characters of a line are parts of: where each run ends, and its letter.
  const INKS = { c: 'comment', t: 'text', n: 'number', k: 'keyword' };
  function inkRuns(text, inks) {
    const runs = [];
    let end = 0;
    for (const [, letter, length] of (inks || '').matchAll(/([.ctnk])(\d+)/g)) runs.push([end += Number(length), INKS[letter]]);
    if (end < text.length) runs.push([text.length]);
    return runs;
  }
  function coloured(place, text, runs, from, to) {
    let at = from;
    for (const [end, ink] of runs) {
      if (at >= to) return;
      if (end <= at) continue;
      const piece = text.slice(at, Math.min(end, to));
      if (ink) place.append(make('span', 'ink-' + ink, piece)); else put(place, piece);
      at += piece.length;
    }
  }

  // ---- What may be done, each after its dry run

  function buttons(entry) {
    const all = [];
    if (hasFiles(entry)) {
      if (marks.length === 2) all.push(button('Compare the two marked ones', compareMarked));
      else if (marks.length && !same(marks[0], entry)) all.push(button('Compare with the marked one', compareMarked));
      if (same(entry, entries[selected])) all.push(button(isMarked(entry) ? 'Unmark' : 'Mark', mark));
      if (data.live) all.push(button('Compare with the present', () => comparePresent(entry)));
    }
    if (data.allow_changes && !entry.pair && entry.kind !== 'issue') {
      const id = entry.id;
      all.push(
        button('Travel here', () => propose('Travel to ' + id, { action: 'travel', snapshot_id: id })),
        ...(entry.prompt ? [button('Rewind to the prompt', () => rewind(entry))] : []),
        button('Restore all of it', () => propose('Restore all of ' + id, { action: 'restore', snapshot_id: id })),
        button('Open in a directory', () => propose('Open ' + id + ' in a directory', { action: 'open', snapshot_id: id })),
        button('Label', () => fields('Label ' + id, [['name', 'Label']], (given) => ({ action: 'label', snapshot_id: id, ...given }))),
        button('Report an issue', () => fields('Report an issue at ' + id, [
          ['task_context', 'What was being done'], ['symptom', 'What went wrong'], ['success_criteria', 'When it is solved'],
        ], (given) => ({ action: 'report', snapshot_id: id, ...given }))),
      );
    }
    $('actions').replaceChildren(...all);
  }

  function rewind({ session_id, prompt: { checkpoint_id, title: asked } }) {
    const title = 'Rewind to checkpoint ' + checkpoint_id + (asked && ': ' + headline(asked));
    const actions = make('div', 'actions');
    for (const [part, text] of [['both', 'Both'], ['code', 'The files'], ['conversation', 'The conversation']]) {
      actions.append(button(text, () => propose(title, { action: 'rewind', session_id, checkpoint_id, part })));
    }
    const no = closing();
    actions.append(no);
    showDialog(title, make('p', '', 'What goes back to just before this prompt? What it would do is shown first.'), actions);
    no.focus();
  }

  function showDialog(title, ...parts) {
    const heading = make('h2', '', title, OF_NAMES);
    heading.id = 'dialog-title';
    dialog.replaceChildren(heading, ...parts);
    if (!dialog.open) dialog.showModal();
  }
  const closing = () => button('No', () => { dialog.close(); say('nothing was done'); });

  function fields(title, names, then) {
    const inputs = names.map(([name, text]) => {
      const label = make('label', '', text);
      const input = make(names.length > 1 ? 'textarea' : 'input');
      input.name = name;
      label.append(input);
      return [label, input];
    });
    const go = () => propose(title, then(Object.fromEntries(inputs.map(([, input]) => [input.name, input.value]))));
    const actions = make('div', 'actions');
    actions.append(button('Show what it would do', go), closing());
    showDialog(title, ...inputs.map(([label]) => label), actions);
    inputs[0][1].focus();
    if (inputs.length === 1) inputs[0][1].addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); go(); } });
  }

  async function propose(title, action) {
    try {
      question(title, await source.ask('try', action), action.action === 'restore');
    } catch (error) {
      failed(title, { message: error.message });
    }
  }

  function failed(title, error) {
    const close = button('Close', () => dialog.close());
    const parts = [make('p', '', error.message)];
    if (error.hint) parts.push(make('p', 'quiet', error.hint));
    showDialog(title, ...parts, close);
    close.focus();
    say(error.message);
  }

  function question(title, answer, isRestore) {
    if (!answer.ok) { failed(title, answer.error); return; }
    // Other commands change more than files.
    const { changes } = answer.preview;
    if (isRestore && changes && !changes.written.length && !changes.removed.length) {
      failed(title, { message: 'Nothing differs: all is as it would be.' });
      return;
    }
    const no = closing();
    const yes = button('Yes, do it', async () => {
      yes.disabled = true;
      try {
        const done = await source.ask('do', { confirm: answer.confirm });
        if (done.ok && done.confirm) { question(title, done, isRestore); return; }
        if (!done.ok) { failed(title, done.error); return; }
        dialog.close();
        await look();
        await reload();
        say('done: ' + title);
        list.focus();
        told(title, done.done);
      } catch (error) {
        failed(title, { message: error.message });
      }
    });
    const actions = make('div', 'actions');
    actions.append(no, yes);
    const changed = answer.changed ? [make('p', '', 'Something changed meanwhile. Now it would do this:')] : [];
    showDialog(title, ...changed, ...previewOf(answer.preview), actions);
    no.focus();
  }

  // What somebody needs to know to go on: a directory, a command line, the sentences of the command.
  function told(title, done) {
    const parts = [];
    if (done.dir) parts.push(make('p', '', 'It is in ' + done.dir + " until 'tw close' removes it."));
    const talk = done.conversation;
    if (talk && talk.resume_command) {
      parts.push(make('p', '', 'The conversation goes on with this command' + (talk.cwd ? ', run in ' + talk.cwd : '') + ':'), make('p', 'mono', talk.resume_command));
    }
    for (const notice of done.notices || []) parts.push(make('p', '', notice));
    if (!parts.length) return;
    const close = button('Close', () => { dialog.close(); list.focus(); });
    showDialog('Done: ' + title, ...parts, close);
    close.focus();
  }

  function previewOf(preview) {
    const parts = [];
    const line = (text, unseen) => parts.push(make('p', '', text, unseen));
    const { code, conversation } = preview;
    if (preview.dir) line('It would be laid out in ' + preview.dir + '. The working tree stays as it is.');
    if (code) {
      line('Files: ' + many(code.files.length, 'path') + ' would go back, +' + code.insertions + ' \u2212' + code.deletions + ' lines.');
      if (code.files.length) parts.push(listOf(code.files.map((file) => [WORDS[file.status] || file.status, file.path])));
    }
    if (conversation) {
      line('Conversation: ' + many(conversation.messages_discarded, 'message') + ' would be left out of the one that goes on; the file of this one stays as it is.');
    }
    if (preview.issue) for (const [name, text] of Object.entries(preview.issue)) line(name.replace('_', ' ') + ': ' + text);
    if (preview.label !== undefined && preview.snapshot && !preview.changes) line('The label \u201c' + preview.label + '\u201d is given to ' + preview.snapshot.snapshot_id + '.');
    if (preview.level) {
      const { operation, snapshot_id, at } = preview.level;
      const of = snapshot_id ? (operation === 'travel' || operation === 'rewind' ? ' to ' : ' from ') + snapshot_id : '';
      const said = make('p', '', 'It would ' + preview.direction + ' ' + operation + of + ', made ');
      said.append(time(at), '.');
      parts.push(said);
    }
    // A rewind has one, too, which says what goes back.
    if (preview.mode === 'present' || preview.mode === 'past') line('The working tree would then be in the ' + preview.mode + '.');
    const changes = preview.changes;
    if (changes) {
      line(many(changes.written.length, 'path') + ' would be written, ' + changes.removed.length + ' removed.');
      const all = changes.written.map((path) => ['write', path]).concat(changes.removed.map((path) => ['remove', path]));
      if (all.length) parts.push(listOf(all));
    }
    for (const member of preview.members || (code && code.members) || []) {
      line('Member ' + member.path + ': ' + many(member.written, 'path') + ' would be written, ' + member.removed + ' removed.');
      if (member.returned) aftermath(member.returned, 'Member ' + member.path + ': ', line);
    }
    aftermath(preview, '', line);
    if (preview.lines && preview.lines.patch) {
      const lines = make('div', 'lines');
      lines.tabIndex = 0;
      lines.setAttribute('role', 'region');
      lines.setAttribute('aria-label', 'what would change');
      lines.append(...laidOut(patchLines(preview.lines.patch)));
      parts.push(lines);
    }
    for (const notice of preview.notices || []) line(notice);
    return parts;
  }

  // What a return, an undo or a redo does beside putting files back, in the words of the commands.
  function aftermath(told, where, line) {
    for (const [name, what] of [
      ['changed_since', told.direction ? 'changed since; those bytes are in the backup' : 'changed by someone else since, and left so'],
      ['kept', 'carried over'], ['discarded', 'not kept in the experiment'], ['stayed', 'stayed in place and changed in the past'],
    ]) {
      const paths = told[name] || [];
      if (paths.length) line(where + what + ': ' + paths.slice(0, 5).join(', ') + (paths.length > 5 ? ' and ' + (paths.length - 5) + ' more' : '') + '.', OF_NAMES);
    }
    for (const { from, to } of told.moved_aside || []) line(where + from + ' would be moved aside to ' + to + '.', OF_NAMES);
    for (const { oid, title } of told.commits_made || []) line(where + 'committed in the past: ' + oid.slice(0, 12) + ' ' + title);
    if (told.head && !told.head.restored) {
      const branch = (told.head.ref || 'its branch').replace(/^refs\/heads\//, '');
      line(where + 'HEAD would stay detached at ' + (told.head.oid || '').slice(0, 12) + ': ' + (DETACHED[told.head.reason] || 'could not be taken up again') + ' (' + branch + ').');
    }
    if (told.head_stayed) line(where + 'HEAD and index would stay as they are: ' + (DETACHED[told.head_stayed] || told.head_stayed) + '.');
  }
  const DETACHED = {
    'head-moved': 'HEAD has moved since', 'branch-moved': 'its branch has moved since', 'branch-gone': 'its branch is gone', 'branch-broken': 'its branch is broken',
    'checked-out-elsewhere': 'its branch is checked out in another worktree', 'tag-gone': 'the tag that it was at is gone',
  };

  // The hunks of a patch, each line with its sign and its numbers on both sides.
  function patchLines(patch) {
    const made = [];
    let [old, now] = [0, 0];
    for (const line of patch.replace(/\n$/, '').split('\n')) {
      const head = line.match(/^@@ -(\d+)\S* \+(\d+)/);
      if (head) {
        [old, now] = [Number(head[1]), Number(head[2])];
        made.push(['@', null, null, line]);
      } else if (made.length) {
        const sign = line[0];
        if (sign === '\\') made.push([sign, null, null, line.slice(2)]);
        else made.push([sign, sign === '+' ? null : old++, sign === '-' ? null : now++, line.slice(1)]);
      }
    }
    return made;
  }

  function listOf(paths) {
    const made = make('ul');
    made.tabIndex = 0;
    made.setAttribute('aria-label', 'paths');
    for (const [does, path] of paths.slice(0, 500)) {
      const item = make('li', 'mono', does + ' ');
      item.append(named(path));
      made.append(item);
    }
    if (paths.length > 500) made.append(make('li', '', many(paths.length - 500, 'more path')));
    return made;
  }

  // ---- Where the working tree is, and whether something happened

  async function look() {
    if (!data.live) return;
    try {
      const told = await source.place();
      alarm('look', '');
      const newest = place && !same(place.newest, told.newest) && (place.newest || told.newest);
      place = told;
      const shown = $('place');
      shown.className = told.mode;
      shown.replaceChildren();
      put(shown, told.mode === 'past' ? 'in the past: ' + told.snapshot_id : told.worktree);
      const all = [];
      if (data.allow_changes) {
        if (told.mode === 'past') all.push(button('Return to the present', () => propose('Return to the present', { action: 'return' })));
        all.push(button('Undo', () => propose('Undo the last swap', { action: 'undo' })));
        all.push(button('Redo', () => propose('Redo what was undone last', { action: 'redo' })));
      }
      $('swaps').replaceChildren(...all);
      if (newest && !$('newer').hasChildNodes()) {
        $('newer').append(button('Something happened: show it', () => { reload(); list.focus(); }));
        say('something happened');
      }
    } catch (error) {
      alarm('look', error.message);
    }
  }

  let typing = 0;
  const where = $('where');
  const inTitles = () => !data.live || !where.value;
  const narrow = () => {
    const grep = inTitles() ? $('search').value || null : null;
    if (grep !== asked.grep) { asked.grep = grep; reload(); }
  };
  $('search').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(narrow, 200);
  });
  where.addEventListener('change', narrow);
  $('search').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !inTitles()) { if ($('search').value) search($('search').value, where.value); }
    else if (event.key === 'Enter' || event.key === 'ArrowDown') list.focus();
    else return;
    event.preventDefault();
  });
  for (const kind of data.kinds) {
    const option = make('option', '', kind);
    option.value = kind;
    $('kind').append(option);
  }
  $('kind').addEventListener('change', () => { asked.kinds = $('kind').value ? [$('kind').value] : []; reload(); });

  if (data.live) {
    look();
    // By itself it asks only while somebody looks, and that does not keep the server from ending.
    setInterval(() => { if (!document.hidden) look(); }, 10000);
  } else {
    for (const id of ['where-field', 'present-key']) $(id).remove();
    put($('place'), 'written ' + clock.format(new Date(data.made_at)) + (data.prompts ? '' : ', without prompts'));
  }
  load();
})();
