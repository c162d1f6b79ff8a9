'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { collection, create, get, group, inState, newClient, newReceiver, plain } = require('./client');

test('a collection from create to delete', async (t) => {
  const { jobCollections, subscriptionId } = newClient(t);
  const definition = {
    name: collection,
    location: 'North Europe',
    tags: { team: 'platform' },
    properties: {
      sku: { name: 'Standard' },
      state: 'Enabled',
      quota: { maxJobCount: 20, maxJobOccurrence: 3, maxRecurrence: { frequency: 'Hour', interval: 2 } },
    },
  };
  const created = await jobCollections.createOrUpdateWithHttpOperationResponse(group, collection, definition);
  assert.equal(created.response.statusCode, 201);
  const want = {
    id: `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections/${collection}`,
    type: 'Microsoft.Scheduler/jobCollections',
    name: collection,
    location: 'North Europe',
    tags: { team: 'platform' },
    properties: {
      sku: { name: 'Standard' },
      state: 'Enabled',
      quota: { maxJobCount: 20, maxRecurrence: { frequency: 'hour', interval: 2 } }, // maxJobOccurrence has no effect
    },
  };
  assert.deepEqual(plain(created.body), want);
  assert.deepEqual(plain(await jobCollections.get(group, collection)), want);

  delete definition.properties.quota;
  const replaced = await jobCollections.createOrUpdateWithHttpOperationResponse(group, collection, definition);
  assert.equal(replaced.response.statusCode, 200);
  assert.equal(replaced.body.properties.quota, undefined, 'what a PUT leaves out is gone');

  await jobCollections.deleteMethod(group, collection);
  await assert.rejects(jobCollections.get(group, collection), { statusCode: 404, code: 'ResourceNotFound' });
});

test('a collection has any plan and state', async (t) => {
  const { jobCollections } = newClient(t);
  for (const name of ['Free', 'Standard', 'P10Premium', 'P20Premium']) {
    for (const state of ['Enabled', 'Disabled', 'Suspended']) {
      const properties = { sku: { name }, state };
      const got = await jobCollections.createOrUpdate(group, collection, { properties });
      assert.deepEqual(plain(got.properties), properties);
    }
  }
});

test('a patch of a collection changes only what it names', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  const want = { tags: { team: 'platform' }, properties: { sku: { name: 'Standard' }, state: 'Enabled' } };
  for (const [what, patch, change] of [
    ['its tags', { tags: want.tags }, {}],
    ['its plan', { properties: { sku: { name: 'P20Premium' } } }, { sku: { name: 'P20Premium' } }],
    ['its quota', { properties: { quota: { maxJobCount: 7 } } }, { quota: { maxJobCount: 7 } }],
    ['its state', { properties: { state: 'Disabled' } }, { state: 'Disabled' }],
  ]) {
    await t.test(what, async () => {
      Object.assign(want.properties, change);
      const { response, body } = await client.jobCollections.patchWithHttpOperationResponse(group, collection, patch);
      assert.equal(response.statusCode, 200);
      assert.deepEqual(plain(body.properties), want.properties);
      assert.deepEqual(body.tags, want.tags);
      assert.equal(body.location, 'North Europe');
    });
  }
});

test('collections are listed by group and by subscription', async (t) => {
  const { jobCollections } = newClient(t);
  for (const [inGroup, name] of [[group, 'b'], [group, 'a'], ['other', 'c']]) {
    await jobCollections.createOrUpdate(inGroup, name, { properties: { sku: { name: 'Standard' } } });
  }
  const inGroup = await jobCollections.listByResourceGroup(group);
  assert.deepEqual(inGroup.map((c) => c.name), ['a', 'b']);
  assert.equal(inGroup.nextLink, undefined);
  const inAll = await jobCollections.listBySubscription();
  assert.deepEqual(inAll.map((c) => c.name).sort(), ['a', 'b', 'c']);
  assert.equal((await newClient(t).jobCollections.listBySubscription()).length, 0, 'another subscription has none of them');
});

test('jobs rest while their collection is disabled', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');

  await client.jobCollections.disable(group, collection);
  assert.equal((await client.jobCollections.get(group, collection)).properties.state, 'Disabled');
  const job = await client.jobs.createOrUpdate(group, collection, 'rests', { properties: { action: get(receiver.url) } });
  assert.equal(job.properties.state, 'enabled', 'a job keeps its own state');
  assert.equal(receiver.requests.length, 0);

  await client.jobCollections.enable(group, collection);
  assert.equal((await client.jobCollections.get(group, collection)).properties.state, 'Enabled');
  await inState(client, 'rests', 'completed');
  assert.equal(receiver.requests.length, 1);
});
