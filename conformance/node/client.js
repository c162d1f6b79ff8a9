'use strict';

// What the tests of the official Node client share.

const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const http = require('node:http');
const { setTimeout: pause } = require('node:timers/promises');
const { TokenCredentials } = require('ms-rest');
const SchedulerManagementClient = require('azure-arm-scheduler');

const almanac = process.env.ALMANAC_URL;
assert.ok(almanac, 'ALMANAC_URL has to say where Almanac is: without it the client would call Azure');

// The names that all tests use, each in a subscription of its own.
const group = 'conformance';
const collection = 'things';

// Every secret that the tests write begins so. Whatever an answer holds of it
// fails the test.
const canary = 'canary-';

// newClient returns a client for a new subscription. What the test leaves
// there is deleted after it.
function newClient(t) {
  const secretGuard = (resource, next, callback) =>
    next(resource, (error, response, body) => {
      if (body && body.includes(canary)) {
        callback(new Error(`${resource.method} ${resource.url} answers with a secret: ${body}`));
        return;
      }
      callback(error, response, body);
    });
  const client = new SchedulerManagementClient(new TokenCredentials('any'), randomUUID(), almanac, {
    filters: [secretGuard],
    noRetryPolicy: true,
    longRunningOperationRetryTimeout: 1,
  });
  t.after(async () => {
    for (const left of await client.jobCollections.listBySubscription()) {
      await client.jobCollections.deleteMethod(left.id.split('/')[4], left.name);
    }
  });
  return client;
}

// create makes the collection with a plan.
async function create(client, plan) {
  const { response } = await client.jobCollections.createOrUpdateWithHttpOperationResponse(group, collection, {
    location: 'North Europe',
    properties: { sku: { name: plan } },
  });
  assert.equal(response.statusCode, 201);
}

// get is an action that calls a URL.
function get(uri) {
  return { type: 'Http', request: { method: 'GET', uri } };
}

// tomorrow returns a time at which a job is due, but not during a test.
function tomorrow() {
  return new Date(Math.ceil(Date.now() / 1000) * 1000 + 24 * 60 * 60 * 1000);
}

// plain returns a model as the plain object that it stands for: durations as
// ISO 8601, without what is undefined.
function plain(model) {
  return JSON.parse(JSON.stringify(model));
}

// eventually waits for a promise of something that is not undefined.
async function eventually(what, look) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(50)) {
    const found = await look();
    if (found !== undefined) {
      return found;
    }
  }
  assert.fail(`no ${what} within 60 s`);
}

// inState returns a job once it is in that state.
function inState(client, name, state) {
  return eventually(`job ${name} that is ${state}`, async () => {
    const job = await client.jobs.get(group, collection, name);
    return job.properties.state === state ? job : undefined;
  });
}

// newReceiver returns what jobs call, at its member url. It fails at the path
// /fails.
async function newReceiver(t) {
  const receiver = { requests: [] };
  const server = http.createServer((request, response) => {
    receiver.requests.push(request);
    response.statusCode = request.url === '/fails' ? 503 : 200;
    response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  }));
  receiver.url = `http://127.0.0.1:${server.address().port}`;
  return receiver;
}

module.exports = { canary, collection, create, eventually, get, group, inState, newClient, newReceiver, plain, tomorrow };
