'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const moment = require('moment');
const { canary, collection, create, eventually, get, group, inState, newClient, newReceiver } = require('./client');

test('a job that runs once', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');
  await client.jobs.createOrUpdate(group, collection, 'once', { properties: { action: get(`${receiver.url}/hello`) } });
  const { properties: { status } } = await inState(client, 'once', 'completed');
  assert.deepEqual(receiver.requests.map((r) => [r.method, r.url, r.headers['x-ms-scheduler-jobid']]), [['GET', '/hello', 'once']]);
  assert.equal(status.nextExecutionTime, undefined);
  assert.ok(status.lastExecutionTime instanceof Date);
  assert.deepEqual([status.executionCount, status.failureCount, status.faultedCount], [1, 0, 0]);

  const history = await client.jobs.listJobHistory(group, collection, 'once');
  assert.equal(history.length, 1);
  assert.equal(history.nextLink, undefined);
  const [{ type, name, properties }] = history;
  assert.equal(type, 'Microsoft.Scheduler/jobCollections/jobs/history');
  assert.ok(name.startsWith(`${collection}/once/`));
  const { status: outcome, actionName, retryCount, repeatCount, message, startTime, endTime, expectedExecutionTime } = properties;
  assert.deepEqual({ outcome, actionName, retryCount, repeatCount }, { outcome: 'Completed', actionName: 'MainAction', retryCount: 0, repeatCount: 1 });
  assert.match(message, /^Http Action - Response from host '127\.0\.0\.1.*'OK'/s);
  assert.ok(startTime >= expectedExecutionTime, 'never early');
  assert.ok(endTime >= startTime);
});

test('the history tells attempts from the error action', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');
  const action = {
    ...get(`${receiver.url}/fails`),
    retryPolicy: { retryType: 'Fixed', retryInterval: moment.duration(15, 'seconds'), retryCount: 1 },
    errorAction: get(`${receiver.url}/alarm`),
  };
  await client.jobs.createOrUpdate(group, collection, 'fails', { properties: { action } });
  const { properties: { status } } = await inState(client, 'fails', 'faulted');
  assert.deepEqual([status.executionCount, status.failureCount, status.faultedCount], [1, 1, 1]);

  const entries = async (filter) => {
    const history = await client.jobs.listJobHistory(group, collection, 'fails', { filter });
    return history.map(({ properties: p }) => [p.actionName, p.status, p.retryCount, p.repeatCount].join(' '));
  };
  const failures = ['MainAction Failed 1 1', 'MainAction Failed 0 1'];
  assert.deepEqual(await entries(), ['ErrorAction Completed 0 1', ...failures]);
  assert.deepEqual(await entries('status eq Failed'), failures);
  assert.deepEqual(await entries('status eq Completed'), ['ErrorAction Completed 0 1']);
});

test('a job runs on demand, and its history is read in parts', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');
  const properties = { action: get(receiver.url), state: 'Disabled', recurrence: { frequency: 'Day' } };
  await client.jobs.createOrUpdate(group, collection, 'daily', { properties });
  const repeats = async (options) => {
    const history = await client.jobs.listJobHistory(group, collection, 'daily', options);
    return history.map((entry) => entry.properties.repeatCount);
  };
  for (const n of [1, 2, 3]) {
    const { response } = await client.jobs.runWithHttpOperationResponse(group, collection, 'daily');
    assert.equal(response.statusCode, 200);
    await eventually('run in the history', async () => ((await repeats()).length === n ? n : undefined));
  }
  assert.equal(receiver.requests.length, 3);
  assert.deepEqual(await repeats(), [3, 2, 1]);
  assert.deepEqual(await repeats({ top: 2 }), [3, 2]);
  assert.deepEqual(await repeats({ top: 2, skip: 2 }), [1]);
  assert.deepEqual(await repeats({ skip: 3 }), []);
});

test('a password that a patch leaves out is used still', async (t) => {
  const client = newClient(t);
  const receiver = await newReceiver(t);
  await create(client, 'Standard');
  const action = get(receiver.url);
  action.request.authentication = { type: 'Basic', username: 'ada', password: `${canary}password` };
  await client.jobs.createOrUpdate(group, collection, 'basic', { properties: { action, state: 'Disabled' } });
  await client.jobs.patch(group, collection, 'basic', { properties: { action: { request: { method: 'POST' } } } });
  await client.jobs.run(group, collection, 'basic');
  const request = await eventually('request', async () => receiver.requests[0]);
  assert.equal(request.method, 'POST');
  assert.equal(request.headers.authorization, `Basic ${Buffer.from(`ada:${canary}password`).toString('base64')}`);
});
