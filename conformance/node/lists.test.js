'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { collection, create, get, group, newClient, tomorrow } = require('./client');

test('jobs are listed in parts', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  for (const [name, state] of [['a', 'Enabled'], ['b', 'Disabled'], ['c', 'Enabled'], ['d', 'Disabled']]) {
    const properties = { action: get('http://127.0.0.1/'), state, startTime: tomorrow() };
    await client.jobs.createOrUpdate(group, collection, name, { properties });
  }
  for (const [what, options, want] of [
    ['all', {}, 'abcd'],
    ['the first', { top: 1 }, 'a'],
    ['the next two', { top: 2, skip: 1 }, 'bc'],
    ['the rest', { skip: 3 }, 'd'],
    ['none beyond the end', { skip: 4 }, ''],
    ['the most that can be asked for', { top: 100 }, 'abcd'],
    ['by state', { filter: 'state eq Enabled' }, 'ac'],
    ['by state in lower case', { filter: 'state eq disabled' }, 'bd'],
    ['by state and in part', { filter: 'state eq Enabled', top: 1, skip: 1 }, 'c'],
    ['by a state that none has', { filter: 'state eq Faulted' }, ''],
  ]) {
    await t.test(what, async () => {
      const page = await client.jobs.list(group, collection, options);
      assert.equal(page.map((job) => job.name.split('/')[1]).join(''), want);
      assert.equal(page.nextLink, undefined);
    });
  }
});

test('many jobs', async (t) => {
  const client = newClient(t);
  const many = 250; // three pages, and enough for an operation on all to be answered before it is done
  await create(client, 'P20Premium');
  const names = Array.from({ length: many }, (_, n) => `job-${n}`);
  const properties = { action: get('http://127.0.0.1/'), startTime: tomorrow(), recurrence: { frequency: 'Day' } };
  const write = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      await client.jobs.createOrUpdate(group, collection, name, { properties });
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));

  await t.test('are listed page by page, each job once', async () => {
    const seen = new Set();
    const sizes = [];
    for (let page = await client.jobs.list(group, collection); ; page = await client.jobs.listNext(page.nextLink)) {
      sizes.push(page.length);
      page.forEach((job) => seen.add(job.name));
      if (!page.nextLink) {
        break;
      }
    }
    assert.deepEqual(sizes, [100, 100, 50]);
    assert.equal(seen.size, many);
  });

  // Each may be answered with 200, or with 202 and where to ask on.
  await t.test('are disabled and enabled with their collection', async () => {
    await client.jobCollections.disable(group, collection);
    assert.equal((await client.jobCollections.get(group, collection)).properties.state, 'Disabled');
    await client.jobCollections.enable(group, collection);
    const job = await client.jobs.get(group, collection, 'job-0');
    assert.deepEqual(job.properties.status.nextExecutionTime, properties.startTime);
  });
  await t.test('are deleted with their collection', async () => {
    await client.jobCollections.deleteMethod(group, collection);
    await assert.rejects(client.jobs.get(group, collection, 'job-0'), { statusCode: 404 });
  });
});
