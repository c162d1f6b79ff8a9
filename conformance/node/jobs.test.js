'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const moment = require('moment');
const { canary, collection, create, get, group, newClient, plain, tomorrow } = require('./client');

test('a job from create to delete', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  const properties = { action: get('http://127.0.0.1/'), startTime: tomorrow(), recurrence: { frequency: 'Day' } };
  const created = await client.jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'Report', { properties });
  assert.equal(created.response.statusCode, 201);
  assert.deepEqual(plain(created.body), {
    id: `/subscriptions/${client.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections/${collection}/jobs/Report`,
    type: 'Microsoft.Scheduler/jobCollections/jobs',
    name: `${collection}/Report`,
    properties: plain({
      ...properties,
      state: 'enabled',
      recurrence: { frequency: 'day', interval: 1 },
      status: { executionCount: 0, failureCount: 0, faultedCount: 0, nextExecutionTime: properties.startTime },
    }),
  });
  assert.ok(created.body.properties.startTime instanceof Date);
  assert.ok(created.body.properties.status.nextExecutionTime instanceof Date);
  assert.deepEqual(plain(await client.jobs.get(group, collection, 'report')), plain(created.body), 'names compare without case');

  delete properties.recurrence;
  const replaced = await client.jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'Report', { properties });
  assert.equal(replaced.response.statusCode, 200);
  assert.equal(replaced.body.properties.recurrence, undefined, 'what a PUT leaves out is gone');

  const deleted = await client.jobs.deleteMethodWithHttpOperationResponse(group, collection, 'Report');
  assert.equal(deleted.response.statusCode, 200);
  await assert.rejects(client.jobs.get(group, collection, 'Report'), { statusCode: 404 });
});

const retries = { retryType: 'Fixed', retryInterval: moment.duration(90, 'seconds'), retryCount: 20 };
const sharedKey = { type: 'SharedAccessKey', sasKeyName: 'send', sasKey: `${canary}key` };
const queueMessage = { storageAccount: 'account', queueName: 'queue', sasToken: `?sv=1&sig=${canary}sas`, message: 'hello' };
const web = get('http://127.0.0.1/').request;

// What an action is sent with, and what of it comes back as another value, or
// not at all.
const actions = {
  'Http with all that a request has': [{
    type: 'Http',
    request: {
      method: 'post', uri: 'http://127.0.0.1/a%20b?c=d&e=%2F', body: '{"a":"<é>"}',
      headers: { 'Content-Type': 'application/json', 'x-mine': 'yes' },
    },
  }],
  'Https': [{ type: 'Https', request: { method: 'HEAD', uri: 'https://127.0.0.1' } }],
  'Http with a password': [
    { type: 'Http', request: { ...web, authentication: { type: 'Basic', username: 'ada', password: `${canary}password` } } },
    { request: { ...web, authentication: { type: 'Basic', username: 'ada' } } },
  ],
  'Http with a client certificate': [
    {
      type: 'Http',
      request: {
        ...web,
        authentication: {
          type: 'ClientCertificate', password: `${canary}pfx-password`,
          pfx: fs.readFileSync(path.join(__dirname, '..', 'testdata', 'client.pfx.base64'), 'utf8').trim(),
        },
      },
    },
    {
      request: {
        ...web,
        authentication: {
          type: 'ClientCertificate',
          certificateThumbprint: '2289C1716C677D04D1993FECC489DCB6769EABE5', certificateSubjectName: 'CN=conformance',
        },
      },
    },
  ],
  'Http with Active Directory': [
    {
      type: 'Http',
      request: {
        ...web,
        authentication: {
          type: 'ActiveDirectoryOAuth', tenant: 'contoso.example', audience: 'https://api.example/', clientId: 'c-1', secret: `${canary}secret`,
        },
      },
    },
    {
      request: {
        ...web,
        authentication: { type: 'ActiveDirectoryOAuth', tenant: 'contoso.example', audience: 'https://api.example/', clientId: 'c-1' },
      },
    },
  ],
  'StorageQueue': [
    { type: 'StorageQueue', queueMessage },
    { queueMessage: { storageAccount: 'account', queueName: 'queue', message: 'hello' } },
  ],
  'ServiceBusQueue with all that a message has': [
    {
      type: 'ServiceBusQueue',
      serviceBusQueueMessage: {
        queueName: 'orders/new', namespace: 'contoso', transportType: 'NetMessaging', authentication: sharedKey, message: 'hello',
        brokeredMessageProperties: {
          contentType: 'text/plain', correlationId: 'c1', forcePersistence: true, label: 'L', messageId: 'm1', partitionKey: 's1', replyTo: 'answers',
          replyToSessionId: 's2', scheduledEnqueueTimeUtc: new Date('2030-01-02T03:04:05.600Z'), sessionId: 's1',
          timeToLive: moment.duration(10, 'minutes'), to: 'there', viaPartitionKey: 'v1',
        },
        customMessageProperties: { Colour: 'blue', n: '1' },
      },
    },
    {
      serviceBusQueueMessage: {
        queueName: 'orders/new', namespace: 'contoso', transportType: 'netMessaging', authentication: { type: 'sharedAccessKey', sasKeyName: 'send' }, message: 'hello',
        brokeredMessageProperties: {
          contentType: 'text/plain', correlationId: 'c1', forcePersistence: true, label: 'L', messageId: 'm1', partitionKey: 's1', replyTo: 'answers',
          replyToSessionId: 's2', scheduledEnqueueTimeUtc: '2030-01-02T03:04:05.600Z', sessionId: 's1', timeToLive: 'PT10M', to: 'there', viaPartitionKey: 'v1',
        },
        customMessageProperties: { Colour: 'blue', n: '1' },
      },
    },
  ],
  'ServiceBusTopic over AMQP': [
    {
      type: 'ServiceBusTopic',
      serviceBusTopicMessage: { topicPath: 'orders', namespace: 'contoso', transportType: 'AMQP', authentication: sharedKey, message: 'hello' },
    },
    {
      serviceBusTopicMessage: {
        topicPath: 'orders', namespace: 'contoso', transportType: 'amqp', authentication: { type: 'sharedAccessKey', sasKeyName: 'send' }, message: 'hello',
      },
    },
  ],
  'ServiceBusTopic that leaves open how': [
    {
      type: 'ServiceBusTopic',
      serviceBusTopicMessage: { topicPath: 'orders', namespace: 'contoso', transportType: 'NotSpecified', authentication: { type: 'NotSpecified' }, message: 'hello' },
    },
    {
      serviceBusTopicMessage: { topicPath: 'orders', namespace: 'contoso', transportType: 'notSpecified', authentication: { type: 'notSpecified' }, message: 'hello' },
    },
  ],
  'no retries': [{ type: 'Http', request: web, retryPolicy: { retryType: 'None' } }, { retryPolicy: { retryType: 'none' } }],
  'retries after a duration': [
    { type: 'Http', request: web, retryPolicy: retries },
    { retryPolicy: { retryType: 'fixed', retryInterval: 'PT1M30S', retryCount: 20 } },
  ],
  'an error action to a storage queue': [
    { type: 'Http', request: web, errorAction: { type: 'StorageQueue', queueMessage, retryPolicy: retries } },
    {
      errorAction: {
        type: 'StorageQueue', queueMessage: { storageAccount: 'account', queueName: 'queue', message: 'hello' },
        retryPolicy: { retryType: 'fixed', retryInterval: 'PT1M30S', retryCount: 20 },
      },
    },
  ],
  'an error action to a web service': [
    { type: 'StorageQueue', queueMessage, errorAction: { type: 'Https', request: { method: 'GET', uri: 'https://127.0.0.1/' } } },
    { queueMessage: { storageAccount: 'account', queueName: 'queue', message: 'hello' } },
  ],
  'an error action to a service bus queue': [
    {
      type: 'Http', request: web,
      errorAction: { type: 'ServiceBusQueue', serviceBusQueueMessage: { queueName: 'q', namespace: 'n', authentication: sharedKey, message: 'm' } },
    },
    {
      errorAction: {
        type: 'ServiceBusQueue',
        serviceBusQueueMessage: { queueName: 'q', namespace: 'n', authentication: { type: 'sharedAccessKey', sasKeyName: 'send' }, message: 'm' },
      },
    },
  ],
  'an error action to a service bus topic': [
    {
      type: 'Http', request: web,
      errorAction: { type: 'ServiceBusTopic', serviceBusTopicMessage: { topicPath: 't', namespace: 'n', authentication: sharedKey, message: 'm' } },
    },
    {
      errorAction: {
        type: 'ServiceBusTopic',
        serviceBusTopicMessage: { topicPath: 't', namespace: 'n', authentication: { type: 'sharedAccessKey', sasKeyName: 'send' }, message: 'm' },
      },
    },
  ],
};

test('an action comes back as it was sent, but for secrets', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  for (const [what, [action, change]] of Object.entries(actions)) {
    await t.test(what, async () => {
      const want = { ...plain(action), ...change };
      const put = await client.jobs.createOrUpdate(group, collection, 'job', { properties: { action, state: 'Disabled' } });
      assert.deepEqual(plain(put.properties.action), want);
      assert.equal(put.properties.state, 'disabled');
      assert.deepEqual(plain((await client.jobs.get(group, collection, 'job')).properties.action), want);
      assert.deepEqual(plain((await client.jobs.list(group, collection))[0].properties.action), want);
    });
  }
});

test('a recurrence comes back as it was sent', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  for (const [what, recurrence, change] of [
    ['every minute', { frequency: 'Minute' }, { frequency: 'minute', interval: 1 }],
    [
      'every six hours, ten times, for ten years',
      { frequency: 'Hour', interval: 6, count: 10, endTime: new Date('2036-01-01T00:00:00.000Z') },
      { frequency: 'hour' },
    ],
    ['at times of the day', { frequency: 'Day', interval: 1, schedule: { hours: [5, 10], minutes: [0, 30] } }, { frequency: 'day' }],
    [
      'on days of the week',
      { frequency: 'Week', interval: 2, schedule: { weekDays: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] } },
      { frequency: 'week', schedule: { weekDays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] } },
    ],
    [
      'on days of the month',
      { frequency: 'Month', interval: 1, schedule: { hours: [23], minutes: [59], monthDays: [1, 31, -1] } },
      { frequency: 'month' },
    ],
  ]) {
    await t.test(what, async () => {
      const want = { ...plain(recurrence), ...change };
      const properties = { action: get('http://127.0.0.1/'), state: 'Disabled', recurrence };
      assert.deepEqual(plain((await client.jobs.createOrUpdate(group, collection, 'job', { properties })).properties.recurrence), want);
      assert.deepEqual(plain((await client.jobs.get(group, collection, 'job')).properties.recurrence), want);
    });
  }

  // The client sends "Occurrence", and looks for that in answers too; the
  // service always answered with "occurrence".
  await t.test('on certain weekdays of the month', async () => {
    const monthlyOccurrences = [{ day: 'Monday', occurrence: 1 }, { day: 'Friday', occurrence: -1 }, { day: 'Sunday' }];
    const recurrence = { frequency: 'Month', schedule: { monthlyOccurrences } };
    const properties = { action: get('http://127.0.0.1/'), state: 'Disabled', recurrence };
    const put = await client.jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'job', { properties });
    assert.deepEqual(JSON.parse(put.response.body).properties.recurrence.schedule.monthlyOccurrences, [
      { day: 'monday', occurrence: 1 }, { day: 'friday', occurrence: -1 }, { day: 'sunday' },
    ]);
    assert.deepEqual(plain(put.body.properties.recurrence.schedule.monthlyOccurrences).map((o) => o.day), ['monday', 'friday', 'sunday']);
  });
});

test('durations are moments, whichever way they were written', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  const action = { ...get('http://127.0.0.1/'), retryPolicy: { retryType: 'Fixed', retryInterval: moment.duration('1.02:00:30') } };
  const put = await client.jobs.createOrUpdate(group, collection, 'job', { properties: { action, state: 'Disabled' } });
  assert.equal(moment.duration(put.properties.action.retryPolicy.retryInterval).asSeconds(), 26 * 60 * 60 + 30);
});

test('a patch of a job merges deeply', async (t) => {
  const client = newClient(t);
  await create(client, 'Standard');
  const before = {
    state: 'Disabled',
    action: {
      type: 'Http',
      request: {
        method: 'POST', uri: 'http://127.0.0.1/', body: 'b', headers: { a: '1', b: '2' },
        authentication: { type: 'Basic', username: 'ada', password: `${canary}password` },
      },
      retryPolicy: { retryType: 'Fixed', retryInterval: moment.duration(1, 'minutes'), retryCount: 2 },
    },
    recurrence: { frequency: 'Week', interval: 3, count: 9, schedule: { weekDays: ['Monday'], hours: [9] } },
  };
  const stored = () => ({
    state: 'disabled',
    action: {
      type: 'Http',
      request: {
        method: 'POST', uri: 'http://127.0.0.1/', body: 'b', headers: { a: '1', b: '2' },
        authentication: { type: 'Basic', username: 'ada' },
      },
      retryPolicy: { retryType: 'fixed', retryInterval: 'PT1M', retryCount: 2 },
    },
    recurrence: { frequency: 'week', interval: 3, count: 9, schedule: { weekDays: ['monday'], hours: [9] } },
  });
  for (const [what, patch, change] of [
    ['nothing', {}, () => {}],
    ['a member of a member', { recurrence: { schedule: { hours: [17, 18] } } }, (want) => { want.recurrence.schedule.hours = [17, 18]; }],
    ['one number', { action: { retryPolicy: { retryCount: 5 } } }, (want) => { want.action.retryPolicy.retryCount = 5; }],
    [
      'a header, without which the authentication stays',
      { action: { request: { headers: { b: '3' } } } },
      (want) => { want.action.request.headers.b = '3'; },
    ],
    [
      'authentication: null',
      { action: { request: { authentication: null } } },
      (want) => { delete want.action.request.authentication; },
    ],
    [
      'the type of the action',
      { action: { type: 'StorageQueue', queueMessage } },
      (want) => {
        want.action.type = 'StorageQueue';
        want.action.queueMessage = { storageAccount: 'account', queueName: 'queue', message: 'hello' };
        delete want.action.request;
      },
    ],
    ['an error action', { action: { errorAction: get('http://127.0.0.1/alarm') } }, (want) => { want.action.errorAction = get('http://127.0.0.1/alarm'); }],
    ['the state', { state: 'Enabled' }, (want) => { want.state = 'enabled'; }],
  ]) {
    await t.test(what, async () => {
      await client.jobs.createOrUpdate(group, collection, 'job', { properties: before });
      const { response, body } = await client.jobs.patchWithHttpOperationResponse(group, collection, 'job', { properties: patch });
      assert.equal(response.statusCode, 200);
      const want = stored();
      change(want);
      const { status, ...got } = plain(body.properties);
      assert.deepEqual(got, want);
      assert.equal(status === undefined, want.state === 'disabled', 'only a disabled job shows no status');
    });
  }
});
