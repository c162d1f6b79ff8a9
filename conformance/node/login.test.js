'use strict';

// The issuers, and an Almanac that asks who calls, are those of login_test.go.

const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const test = require('node:test');
const { TokenCredentials } = require('ms-rest');
const { ApplicationTokenCredentials, AzureEnvironment } = require('ms-rest-azure');
const SchedulerManagementClient = require('azure-arm-scheduler');
const { collection, create, get, group } = require('./client');

const { url, issuer, entra, tenant, secret, subscriptions } = JSON.parse(process.env.ALMANAC_LOGIN);

// ways are those in which an application gets credentials, each with the subscription in which the applications have
// roles.
const ways = {
  'an OpenID Connect issuer, which discovery finds': [subscriptions.Plain, async (application) => {
    const { token_endpoint: endpoint } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: application, client_secret: secret });
    const { access_token: token } = await (await fetch(endpoint, { method: 'POST', body })).json();
    return new TokenCredentials(token);
  }],
  'Entra ID, version 1': [subscriptions.V1, async (application) => {
    const environment = AzureEnvironment.add({
      ...AzureEnvironment.Azure,
      name: 'local',
      activeDirectoryEndpointUrl: `${entra}/`,
      activeDirectoryResourceId: 'https://management.azure.com/',
      validateAuthority: false, // Microsoft does not know it
    });
    return new ApplicationTokenCredentials(application, tenant, secret, { environment });
  }],
};

function newClient(credentials, subscription) {
  return new SchedulerManagementClient(credentials, subscription, url, { noRetryPolicy: true, longRunningOperationRetryTimeout: 1 });
}

async function mayChange({ jobCollections, jobs }) {
  await create({ jobCollections }, 'Standard');
  const properties = { action: get('http://127.0.0.1/'), state: 'Disabled' };
  await jobs.createOrUpdate(group, collection, 'kept', { properties });
  await jobs.createOrUpdate(group, collection, 'job', { properties });
  assert.equal((await jobs.get(group, collection, 'job')).properties.action.request.uri, 'http://127.0.0.1/');
  assert.equal((await jobs.list(group, collection)).length, 2);
  await jobs.run(group, collection, 'job');
  await jobs.deleteMethod(group, collection, 'job');
}

async function mayReadOnly({ jobCollections, jobs }) {
  assert.equal((await jobs.get(group, collection, 'kept')).properties.action.request.uri, 'http://127.0.0.1/');
  assert.equal((await jobs.list(group, collection)).length, 1);
  const job = { properties: { action: get('http://127.0.0.1/') } };
  for (const [action, call] of [
    ['jobs/write', () => jobs.createOrUpdate(group, collection, 'kept', job)],
    ['jobs/delete', () => jobs.deleteMethod(group, collection, 'kept')],
    ['jobs/run/action', () => jobs.run(group, collection, 'kept')],
    ['delete', () => jobCollections.deleteMethod(group, collection)],
  ]) {
    await assert.rejects(call(), (error) => {
      assert.equal(error.statusCode, 403);
      assert.equal(error.code, 'AuthorizationFailed');
      assert.ok(error.message.includes(`'Microsoft.Scheduler/jobCollections/${action}'`), error.message);
      return true;
    });
  }
}

for (const [way, [subscription, credentials]] of Object.entries(ways)) {
  test(`roles hold for tokens of ${way}`, async (t) => {
    const as = async (application) => newClient(await credentials(application), subscription);
    const owner = await as('contributor');
    t.after(() => owner.jobCollections.deleteMethod(group, collection));
    await mayChange(owner);
    await mayReadOnly(await as('reader'));
    const stranger = await as('stranger');
    await assert.rejects(stranger.jobs.get(group, collection, 'kept'), { statusCode: 404, code: 'ResourceNotFound' });
    assert.deepEqual([...await stranger.jobCollections.listBySubscription()], []);
    const late = await as('late');
    await assert.rejects(late.jobs.get(group, collection, 'kept'), { statusCode: 401, code: 'AuthenticationFailed', message: /The token has expired\./ });
    const elsewhere = newClient(await credentials('contributor'), randomUUID());
    await assert.rejects(elsewhere.jobCollections.get(group, collection), { statusCode: 404 });
  });
}

test('a request without a credential is told so', async () => {
  const nobody = newClient({ signRequest: (request, callback) => callback(null, request) }, subscriptions.Plain);
  await assert.rejects(nobody.jobs.get(group, collection, 'kept'), { statusCode: 401, code: 'AuthenticationFailed', message: /has no credential/ });
});
