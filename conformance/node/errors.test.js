'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { collection, create, get, group, inState, newClient, newReceiver } = require('./client');

test('what is not there is not found', async (t) => {
  const client = newClient(t);
  const { jobCollections, jobs } = client;
  await create(client, 'Standard');
  const job = { properties: { action: get('http://127.0.0.1/') } };
  for (const [what, call] of [
    ['get of a collection', () => jobCollections.get(group, 'none')],
    ['patch of a collection', () => jobCollections.patch(group, 'none', { tags: { a: 'b' } })],
    ['delete of a collection', () => jobCollections.deleteMethod(group, 'none')],
    ['enable of a collection', () => jobCollections.enable(group, 'none')],
    ['disable of a collection', () => jobCollections.disable(group, 'none')],
    ['list of a collection', () => jobs.list(group, 'none')],
    ['put into a collection', () => jobs.createOrUpdate(group, 'none', 'job', job)],
    ['get of a job', () => jobs.get(group, collection, 'none')],
    ['patch of a job', () => jobs.patch(group, collection, 'none', job)],
    ['delete of a job', () => jobs.deleteMethod(group, collection, 'none')],
    ['run of a job', () => jobs.run(group, collection, 'none')],
    ['history of a job', () => jobs.listJobHistory(group, collection, 'none')],
  ]) {
    await t.test(what, () => assert.rejects(call(), { statusCode: 404, code: 'ResourceNotFound', message: /none.*conformance/ }));
  }
});

test('a bad job is refused, field by field', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  const properties = { action: { type: 'Http' }, recurrence: { frequency: 'Week', schedule: { hours: [25] } } };
  await assert.rejects(client.jobs.createOrUpdate(group, collection, 'bad', { properties }), (error) => {
    assert.equal(error.statusCode, 400);
    assert.equal(error.code, 'BadRequest');
    assert.match(error.message, /properties\.action\.request/);
    assert.match(error.message, /properties\.recurrence\.schedule\.hours\[0\]/);
    assert.equal(error.body.code, 'BadRequest');
    return true;
  });
});

test('a bad filter is refused', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  await assert.rejects(client.jobs.list(group, collection, { filter: 'state eq Sleepy' }), { statusCode: 400, message: /\$filter/ });
});

test('quotas are conflicts', async (t) => {
  const client = newClient(t);
  await create(client, 'Free');
  const properties = { action: get('http://127.0.0.1/'), state: 'Disabled', recurrence: { frequency: 'Hour' } };
  for (let n = 1; n <= 5; n++) {
    await client.jobs.createOrUpdate(group, collection, `job-${n}`, { properties });
  }
  const conflict = { statusCode: 409, code: /./, message: /./ };
  await assert.rejects(client.jobs.createOrUpdate(group, collection, 'job-6', { properties }), conflict);
  properties.recurrence.frequency = 'Minute';
  await assert.rejects(client.jobs.createOrUpdate(group, collection, 'job-1', { properties }), conflict);
  await assert.rejects(client.jobCollections.createOrUpdate(group, 'another', { properties: { sku: { name: 'Free' } } }), conflict);
});

test('a completed job is revived by a schedule with a future', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');
  const job = { properties: { action: get(receiver.url) } };
  await client.jobs.createOrUpdate(group, collection, 'once', job);
  await inState(client, 'once', 'completed');
  assert.equal((await client.jobs.createOrUpdate(group, collection, 'once', job)).properties.state, 'completed');
  assert.equal((await client.jobs.patch(group, collection, 'once', job)).properties.state, 'completed');
  assert.equal(receiver.requests.length, 1, 'it does not run again');
  await client.jobs.run(group, collection, 'once');
  const read = await client.jobs.get(group, collection, 'once');
  assert.equal(read.properties.state, 'completed');
  read.properties.startTime = new Date(Date.now() + 3600_000);
  const revived = await client.jobs.createOrUpdate(group, collection, 'once', read);
  assert.equal(revived.properties.state, 'enabled');
  assert.ok(revived.properties.status.nextExecutionTime instanceof Date);
  await client.jobs.deleteMethod(group, collection, 'once');
  const again = await client.jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'once', job);
  assert.equal(again.response.statusCode, 201);
});
