// What pages do with scripts. Without them all works, too: forms are sent, pages load. No text becomes markup here: pages
// that are fetched are parsed by the browser as documents, in which no script runs.
// @ts-check

/** @param {string} q @param {ParentNode} of @returns {HTMLElement[]} */
const all = (q, of = document) => [...of.querySelectorAll(q)].map((e) => /** @type {HTMLElement} */ (e));
/** @param {string} q @param {ParentNode} of @returns {any} */
const one = (q, of = document) => of.querySelector(q);
const root = document.body.dataset.root || '';
const home = document.body.dataset.at || root; // in the resource group of the page
const ahead = Number(document.body.dataset.now) - Date.now(); // of the server's clock

// kept is the local storage, where the browser has one.
const kept = {
  /** @param {string} name */
  get(name) { try { return localStorage.getItem(`almanac-${name}${root}`) } catch { return null } },
  /** @param {string} name @param {string} value */
  set(name, value) { try { localStorage.setItem(`almanac-${name}${root}`, value) } catch { /* it is not kept */ } },
};

/**
 * page fetches a page as a document; null if it cannot be had. The page of an error has another status.
 * @param {string} path @param {FormData} [form] @param {AbortSignal} [stop] @returns {Promise<{doc: Document | null, status: number}>}
 */
const page = (path, form, stop) => new Promise((done) => {
  const x = new XMLHttpRequest();
  x.open(form ? 'POST' : 'GET', path);
  x.responseType = 'document';
  x.timeout = form ? 120000 : 30000;
  x.onload = () => done({ doc: x.responseXML && one('#main', x.responseXML) ? x.responseXML : null, status: x.status });
  x.onerror = x.onabort = x.ontimeout = () => done({ doc: null, status: 0 });
  stop?.addEventListener('abort', () => x.abort());
  x.send(form && new URLSearchParams(/** @type {any} */ (form)));
});

// --- relative times

/** @param {number} a @param {string} unit @param {number} b @param {string} smaller */
const two = (a, unit, b, smaller) => b ? `${a} ${unit} ${smaller === 's' ? String(b).padStart(2, '0') : b} ${smaller}` : `${a} ${unit}`;

/** @param {number} s seconds */
function length(s) {
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
  s = Math.round(s / 60) * 60;
  if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor(s % 3600 / 60), 'min');
  if (s < 14 * 86400) return two(Math.floor(s / 86400), 'd', Math.floor(s % 86400 / 3600), 'h');
  return `${Math.floor(s / 86400)} d`;
}

function tick() {
  if (paused() || document.hidden) return;
  const now = Date.now() + ahead;
  for (const e of all('time[data-rel]')) {
    const away = Math.round((Date.parse(/** @type {HTMLTimeElement} */ (e).dateTime) - now) / 1000);
    const text = away > 0 ? `in ${length(away)}` : e.dataset.rel === 'next' ? 'due now' : e.dataset.rel === 'end' ? 'now' : away === 0 ? 'just now' : `${length(-away)} ago`;
    if (e.textContent !== text) e.textContent = text;
  }
}
setInterval(tick, 1000);

// --- what is new

const paused = () => kept.get('paused') === 'yes';
const state = one('[data-switch]'), pill = one('[data-news]');
const { live, since } = document.body.dataset;
let version = document.body.dataset.version || '', wait = 1500, timer = 0, asking = false, ended = false;

/** @param {string} text */
function show(text) {
  if (!pill || pill.textContent === text) return;
  pill.textContent = text;
  pill.hidden = !text;
}

/** @param {'is-lost' | ''} how */
function say(how) {
  if (!state) return;
  const text = ended ? 'Ended' : paused() ? 'Paused' : how ? 'Reconnecting' : 'Live';
  state.classList.toggle('is-paused', paused());
  state.classList.toggle('is-lost', ended || how === 'is-lost' && !paused());
  state.setAttribute('aria-pressed', String(paused()));
  if (state.textContent !== text) state.textContent = text;
}

// patch puts the rows that have changed where they are, and returns how many rows the page does not have yet.
/** @param {Document} to */
function patch(to) {
  const has = new Map(all('tr[data-k]').map((row) => [row.dataset.k, row]));
  let more = 0;
  for (const row of all('tr[data-k]', to)) {
    const old = has.get(row.dataset.k);
    if (!old) { more++; continue }
    [...row.children].forEach((cell, i) => {
      const was = old.children[i];
      if (!was || was.classList.contains('sel') || was.outerHTML === cell.outerHTML || was.contains(document.activeElement)) return;
      was.replaceWith(document.adoptNode(cell));
    });
  }
  for (const part of all('[data-part]')) {
    const now = one(`[data-part="${part.dataset.part}"]`, to);
    if (now && now.outerHTML !== part.outerHTML && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(now));
  }
  return more;
}

async function ask() {
  if (!live || paused() || document.hidden || asking) return;
  asking = true;
  const asked = new URL(live, location.href);
  asked.searchParams.set(since ? 'since' : 'v', since || version);
  try {
    const got = await fetch(asked, { headers: { Accept: 'application/json' }, signal: AbortSignal.timeout(20000) });
    if (got.status === 401 || got.status === 403 || got.status === 404) return stop(got.status);
    if (!got.ok) throw new Error(String(got.status));
    if (got.status === 200) await changed(await got.json());
    wait = 1500;
    say('');
  } catch {
    wait = Math.min(wait * 2, 30000);
    say('is-lost');
  } finally {
    asking = false;
    again();
  }
}

/** @param {{v?: string, new?: number}} news */
async function changed(news) {
  if (news.new) return show(news.new >= 100 ? '100 or more new' : `${news.new} new`);
  if (!one('tr[data-k]')) { version = news.v ?? version; return show('Changed: show') }
  const { doc: to, status } = await page(location.href);
  if (!to || status !== 200) throw new Error('no page');
  version = to.body.dataset.version || version;
  const more = patch(to);
  show(more ? `${more} new` : '');
}

/** @param {number} status */
function stop(status) {
  ended = true;
  say('is-lost');
  show(status === 401 ? 'You are not logged in any more: log in' : 'Changed: show');
}

function again() {
  clearTimeout(timer);
  if (!ended && live) timer = setTimeout(ask, wait);
}

if (live) {
  document.addEventListener('visibilitychange', () => { if (!document.hidden) { tick(); ask() } });
  addEventListener('online', ask);
  addEventListener('storage', () => { say(''); again() });
  again();
}
state?.addEventListener('click', () => {
  kept.set('paused', paused() ? 'no' : 'yes');
  say('');
  tick();
  ask();
});
say('');

// A run that is watched: the page shows how it stands, and stays where it is. While it cannot be read, what was read stays.
const reload = Number(document.body.dataset.reload);
let errors = 0;
async function watch() {
  let next = reload;
  if (!paused() && !document.hidden) {
    const { doc, status } = await page(location.href), main = one('#main');
    const over = status === 401 || status === 403 || status === 404 || doc && status === 200;
    errors = over ? 0 : errors + 1;
    if (doc && over) {
      next = Number(doc.body.dataset.reload);
      if (!main.isEqualNode(one('#main', doc))) {
        const at = all('a, button, summary, input', main).indexOf(/** @type {any} */ (document.activeElement));
        main.replaceWith(document.adoptNode(one('#main', doc)));
        if (at >= 0) all('main :is(a, button, summary, input)')[at]?.focus();
      }
    }
    say(errors ? 'is-lost' : '');
  }
  if (next) setTimeout(watch, Math.min(next * 1000 * 2 ** Math.min(errors, 5), 60000));
}
if (reload) setTimeout(watch, reload * 1000);

// --- rows that are selected

const bulk = one('form[data-bulk]');
if (bulk) {
  const boxes = () => all('input[name=job]', bulk).map((e) => /** @type {HTMLInputElement} */ (e));
  const whole = one('[data-select]'), every = one('input[name=all]', bulk), said = one('[data-selected]', bulk);
  let last = -1;
  const count = () => {
    const n = boxes().filter((b) => b.checked).length;
    for (const b of boxes()) b.closest('tr')?.classList.toggle('is-sel', b.checked || every.checked);
    one('.bulk', bulk).classList.toggle('is-empty', n === 0 && !every.checked);
    said.textContent = every.checked ? '' : n ? `${n} selected; or` : 'Select jobs, or';
    whole.checked = n > 0 && n === boxes().length;
    whole.indeterminate = n > 0 && !whole.checked;
  };
  bulk.addEventListener('click', (/** @type {MouseEvent} */ e) => {
    const at = boxes().indexOf(/** @type {any} */ (e.target));
    if (at < 0) return;
    const { checked } = boxes()[at];
    if (e.shiftKey && last >= 0) for (const b of boxes().slice(Math.min(at, last), Math.max(at, last) + 1)) b.checked = checked;
    last = at;
    count();
  });
  whole.addEventListener('change', () => { for (const b of boxes()) b.checked = whole.checked; count() });
  every.addEventListener('change', count);
  addEventListener('pageshow', count);
}

// --- the form of a job

const edit = one('.edit');
if (edit) {
  let dirty = one('[data-unsaved]') !== null, sent = false, timer = 0;
  /** @type {AbortController | undefined} */
  let asked;
  const touched = new Set(all('[aria-invalid]').map((e) => e.id));
  /** @type {HTMLFormElement | undefined} */
  let waits; // the side that was written, as long as the other one does not have it
  /** @type {HTMLFormElement | undefined} */
  let asks; // the side of which a preview is under way
  addEventListener('beforeunload', (e) => { if (dirty && !sent) e.preventDefault() });
  addEventListener('pageshow', () => { sent = false });
  edit.addEventListener('submit', () => { sent = true });
  edit.addEventListener('input', (/** @type {Event} */ e) => {
    const field = /** @type {HTMLInputElement} */ (e.target), form = field.form;
    if (!form) return;
    dirty = true;
    touched.add(field.id || `f-${field.name}`);
    for (const same of all(`[name=collection], [name=name]`, edit)) { // both sides have them
      if (same !== field && /** @type {any} */ (same).name === field.name) /** @type {any} */ (same).value = field.value;
    }
    for (const b of all('.savebar button')) b.setAttribute('form', form.id); // what is saved is the side that was written last
    if (asks !== form) asked?.abort(); // its answer would go over what is being written
    waits = form;
    clearTimeout(timer);
    timer = setTimeout(() => preview(form), 400);
  });
  edit.addEventListener('focusin', (/** @type {FocusEvent} */ e) => { // the other side is about to be written: it gets what this one has first
    const { form } = /** @type {any} */ (e.target);
    if (waits && form && form !== waits && timer) { clearTimeout(timer); preview(waits) }
  });
  document.addEventListener('click', (e) => {
    const b = /** @type {any} */ (e.target);
    if (b.name === 'spread') {
      e.preventDefault();
      const field = one('#f-flexibleWindow');
      field.value = b.value;
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      field.focus();
      return;
    }
    if (b.name !== 'do' || b.value !== 'try' || !b.form) return;
    e.preventDefault();
    tryNow(b);
  });

  /** @param {HTMLButtonElement} button */
  async function tryNow(button) {
    const tried = one('[data-tried]'), body = new FormData(/** @type {HTMLFormElement} */ (button.form)), was = Date.now();
    const say = () => { tried.textContent = `It is being sent: ${length(Math.round((Date.now() - was) / 1000))}` };
    body.set('do', 'try');
    button.disabled = true;
    say();
    const ticks = setInterval(say, 1000);
    const { doc: to } = await page(/** @type {HTMLFormElement} */ (button.form).action, body);
    clearInterval(ticks);
    button.disabled = false;
    const now = to && (one('[data-tried] > *, [data-wrong]', to) ?? one('#main .note', to));
    if (now) tried.replaceChildren(document.adoptNode(now));
    else tried.textContent = to ? one('#main', to).textContent : 'There is no answer. Whether it was sent is not known.';
    tried.scrollIntoView({ block: 'nearest' });
  }

  /** @param {HTMLFormElement} form */
  async function preview(form) {
    asked?.abort();
    asked = new AbortController();
    const mine = asked, body = new FormData(form);
    body.set('do', 'check');
    asks = form;
    const { doc: to } = await page(form.action, body, mine.signal);
    if (mine.signal.aborted || !to || !one('.edit', to) || waits && waits !== form) return;
    asks = waits = undefined;
    const onesided = one('[data-forgotten], #e-json', to); // the other side would lose what was written
    swap('[data-runs]', to);
    swap('.savebar > .err', to);
    swap('[data-diff]', to);
    swap('[data-errors]', to);
    const wrong = one('[data-wrong]');
    if (wrong && !one('[data-wrong]', to)) wrong.remove(); else if (wrong) swap('[data-wrong]', to);
    for (const e of all('[id^="e-"]')) e.remove();
    for (const field of all('[id^="f-"]', edit)) {
      const now = one(`#${CSS.escape(field.id)}`, to), error = one(`#${CSS.escape('e-' + field.id.slice(2))}`, to);
      const shown = error && (touched.has(field.id) || field.id === 'f-json');
      for (const name of ['aria-invalid', 'aria-describedby']) {
        const value = shown && now?.getAttribute(name);
        if (value) field.setAttribute(name, value); else field.removeAttribute(name);
      }
      if (shown) field.closest('.f, .stack')?.append(document.adoptNode(error));
    }
    if (!onesided && form.id === 'f') copy(one('#f-json'), one('#f-json', to));
    one('#f-json').dispatchEvent(new Event('checked')); // for its editor
    if (onesided || form.id === 'f') return;
    one('#f input[name=definition]').value = one('#f-json').value;
    for (const field of all('#f [id^="f-"]:not([name=name], [name=collection]), #f input[type=checkbox]')) copy(field, twin(field, to));
  }

  /** @param {string} q @param {Document} to */
  const swap = (q, to) => { const now = one(q, to); if (now) one(q).replaceChildren(...document.adoptNode(now).childNodes) };

  /** @param {any} field @param {Document} to */
  const twin = (field, to) => field.type === 'checkbox' ? one(`#f input[name=${field.name}][value=${field.value}]`, to) : one(`#${CSS.escape(field.id)}`, to);

  /** @param {any} field @param {any} from */
  const copy = (field, from) => {
    if (!from || field.type === 'password') return;
    if (field.type === 'checkbox') field.checked = from.checked;
    else if (field.tagName === 'SELECT' && ![...field.options].some((o) => o.value === from.value)) field.append(new Option(from.value, from.value, false, true));
    else if (field.value !== undefined && field.value !== from.value) field.value = from.value;
  };
}

// --- forms that say what they would do: it follows what is written

for (const form of all('form[data-check]').map((e) => /** @type {HTMLFormElement} */ (e))) {
  let timer = 0;
  /** @type {AbortController | undefined} */
  let asked;
  const check = async () => {
    asked?.abort();
    asked = new AbortController();
    const mine = asked, body = new FormData(form);
    body.set('do', 'check');
    body.delete('listed');
    const { doc: to } = await page(form.dataset.check || form.action, body, mine.signal);
    if (mine.signal.aborted || !to) return;
    for (const q of ['[data-held]', '[data-rows]', '[data-selection]']) {
      const was = one(q), now = one(q, to);
      if (was && now) was.replaceChildren(...document.adoptNode(now).childNodes);
    }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(check, 300) };
  form.addEventListener('input', soon);
  form.addEventListener('click', (e) => {
    const b = /** @type {any} */ (e.target);
    if (b.name !== 'preset') return;
    e.preventDefault();
    one(`[name=${b.dataset.for || 'until'}]`, form).value = b.value;
    soon();
  });
}

// --- saved views

for (const menu of all('[data-views]')) {
  const list = one('ul', menu), name = one('input', menu);
  /** @returns {{name: string, path: string}[]} */
  const views = () => { try { return JSON.parse(kept.get('views') || '[]').filter((/** @type {any} */ v) => String(v.path).startsWith(`${root}/`)) } catch { return [] } };
  const fill = () => list.replaceChildren(...views().map((v, i) => {
    const item = document.createElement('li'), link = document.createElement('a'), forget = document.createElement('button');
    item.className = 'view';
    link.href = v.path;
    link.textContent = v.name;
    if (v.path === location.pathname + location.search) link.setAttribute('aria-current', 'true');
    forget.type = 'button';
    forget.textContent = '×';
    forget.setAttribute('aria-label', `Forget the view ${v.name}`);
    forget.onclick = () => { kept.set('views', JSON.stringify(views().filter((_, j) => j !== i))); fill(); name.focus() };
    item.append(link, forget);
    return item;
  }));
  const keep = () => {
    const called = name.value.trim();
    if (!called) return name.focus();
    const q = new URLSearchParams(location.search);
    for (const name of ['after', 'before', 'done']) q.delete(name); // a view is all of a list
    const path = location.pathname + (q.size ? `?${q}` : '');
    kept.set('views', JSON.stringify([...views().filter((v) => v.name !== called), { name: called, path }]));
    name.value = '';
    fill();
  };
  one('button[data-keep]', menu).addEventListener('click', keep);
  name.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Enter') { e.preventDefault(); keep() } });
  fill();
}

// --- copies

/** @param {HTMLElement} button @param {string} text */
async function copied(button, text) {
  const was = button.textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = 'Copied' } catch { button.textContent = 'It could not be copied' }
  setTimeout(() => { button.textContent = was }, 2000);
}
for (const b of all('[data-copy]')) b.addEventListener('click', () => copied(b, one(b.dataset.copy || '').value));
for (const b of all('[data-copy-link]')) b.addEventListener('click', () => copied(b, location.href));
for (const b of all('[data-print]')) b.addEventListener('click', () => print());

for (const f of all('input[type=file][data-into]')) f.addEventListener('change', async () => {
  const { files, dataset } = /** @type {HTMLInputElement} */ (f);
  if (files?.[0] && files[0].size < 1e6) one(dataset.into || '').value = await files[0].text();
});

// --- keys

const goes = { h: '/', j: '/jobs', a: '/activity', i: '/incident' };
let before = '';
document.addEventListener('keydown', (e) => {
  const at = /** @type {HTMLElement} */ (e.target);
  if (e.key === 'Escape') {
    for (const menu of all('details.menu[open]')) { menu.removeAttribute('open'); one('summary', menu).focus() }
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || at.shadowRoot || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && /** @type {any} */ (at).type !== 'checkbox') return;
  const key = before + e.key;
  before = e.key === 'g' ? 'g' : '';
  const row = at.closest('tr'), rows = all('main tbody a.name, main tbody th a');
  const to = /** @type {Record<string, string>} */ (goes)[key.slice(1)];
  if (key[0] === 'g' && to) location.href = home + to;
  else if (key === '/') one('main input[type=search], .find input').focus();
  else if (key === '?') location.href = `${home}/about#keys`;
  else if (key === 'j' || key === 'k') {
    const now = rows.findIndex((a) => a.closest('tr') === row && row);
    rows[Math.max(0, Math.min(rows.length - 1, now + (key === 'j' ? 1 : now < 0 ? 1 : -1)))]?.focus();
  } else if (key === 'x') row && one('input[name=job]', row)?.click();
  else if (key === 'w') one('a[href*="/explain"]', row ?? document)?.click();
  else if (key === 'n') pill && !pill.hidden && pill.click();
  else if (key === 'p') state?.click();
  else return;
  e.preventDefault();
});
document.addEventListener('click', (e) => {
  for (const menu of all('details.menu[open]')) if (!menu.contains(/** @type {Node} */ (e.target))) menu.removeAttribute('open');
});

for (const e of all('[data-js]')) e.hidden = false;
for (const e of all('[data-nojs]')) e.hidden = true;
